import Threading

extension MeetingChapter {
  static let solutions = [
    Solution("a pool of things to lend") { page in
      let result = try lend(things: 3, borrowers: 10, times: 50)
      page.claim("500 loans, and nobody had a thing that another had", result.loans == 500)
      page.claim("all three are back", result.left == [0, 1, 2])
    },
    Solution("the game of life, by strips") { page in
      // A glider moves by one point down and to the right in four steps.
      let glider = [(1, 0), (2, 1), (0, 2), (1, 2), (2, 2)].map { $0.1 * 16 + $0.0 }
      let moved = Set(glider.map { $0 + 17 })
      page.claim(
        "after four steps the glider is one further",
        try live(Set(glider), size: 16, steps: 4) == moved)
    },
  ]

  /// Lends things: a semaphore counts them, a lock keeps them.
  static func lend(
    things count: Int, borrowers: Int, times: Int
  ) throws -> (loans: Int, left: [Int]) {
    let things = Locked(Array(0..<count))
    let inUse = Locked(Set<Int>())
    let free = CountingSemaphore(count)
    let threads = try (0..<borrowers).map { _ in
      try PosixThread.start {
        var loans = 0
        for _ in 0..<times {
          free.acquire()
          let thing = things.withLock { $0.removeLast() }
          if inUse.withLock({ $0.insert(thing).inserted }) { loans += 1 }
          inUse.withLock { _ = $0.remove(thing) }
          things.withLock { $0.append(thing) }
          free.release()
        }
        return loans
      }
    }
    let loans = try threads.map { try $0.join() }.reduce(0, +)
    return (loans, things.withLock { $0.sorted() })
  }

  /// The living points of the game of life after some steps. Each thread has a strip of the board, and
  /// all meet after each step.
  static func live(_ start: Set<Int>, size: Int, steps: Int) throws -> Set<Int> {
    let threads = 4
    let board = Locked(start)
    let next = Locked(Set<Int>())
    let stepEnds = CyclicBarrier(threads) {
      let alive = next.withLock { next in
        defer { next = [] }
        return next
      }
      board.withLock { $0 = alive }
    }
    let workers = try (0..<threads).map { index in
      try PosixThread.start {
        for _ in 0..<steps {
          let now = board.withLock { $0 }
          let rows = size * index / threads..<size * (index + 1) / threads
          let mine = rows.flatMap { y in
            (0..<size).map { y * size + $0 }.filter { isAlive($0, now, size: size) }
          }
          next.withLock { $0.formUnion(mine) }
          _ = stepEnds.wait()
        }
      }
    }
    for worker in workers { try worker.join() }
    return board.withLock { $0 }
  }

  private static func isAlive(_ point: Int, _ board: Set<Int>, size: Int) -> Bool {
    let (x, y) = (point % size, point / size)
    var neighbours = 0
    for row in max(0, y - 1)...min(size - 1, y + 1) {
      for column in max(0, x - 1)...min(size - 1, x + 1) where (column, row) != (x, y) {
        if board.contains(row * size + column) { neighbours += 1 }
      }
    }
    return neighbours == 3 || neighbours == 2 && board.contains(point)
  }
}
