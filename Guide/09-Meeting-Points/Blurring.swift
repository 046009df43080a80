import Threading

extension Picture {
  /// Two pictures of one size: each pass reads one and writes the other.
  // SAFETY of @unchecked: between two meetings at the barrier, all threads read `source` alone, and
  // each writes rows of `target` that no other touches; the two change places when all have met.
  @safe
  private final class Pair: @unchecked Sendable {
    private(set) var source: UnsafeMutableBufferPointer<UInt8>
    private(set) var target: UnsafeMutableBufferPointer<UInt8>

    init(_ points: [UInt8]) {
      unsafe source = .allocate(capacity: points.count)
      unsafe target = .allocate(capacity: points.count)
      _ = unsafe source.initialize(from: points)
      unsafe target.initialize(repeating: 0)
    }

    deinit {
      unsafe source.deallocate()
      unsafe target.deallocate()
    }

    func swap() { unsafe Swift.swap(&source, &target) }
  }

  // snippet: barrier
  /// The picture after some passes of a blur, each of which needs the whole picture of the pass before.
  ///
  /// `show` is told meanwhile how far each thread is, from 0 to 1.
  func blurred(
    passes: Int, threads: Int, show: ([Double]) -> Void
  ) throws -> Picture {
    let pair = Pair(points)
    let passEnds = CyclicBarrier(threads) { pair.swap() }
    let rowsDone = (0..<threads).map { _ in AtomicCounter() }
    let areDone = CountdownLatch(threads)
    let workers = try (0..<threads).map { index in
      try PosixThread.start {
        let rows = height * index / threads..<height * (index + 1) / threads
        for _ in 0..<passes {
          for y in rows {
            blurRow(y, of: pair)
            rowsDone[index].increment()
          }
          _ = passEnds.wait()
        }
        areDone.countDown()
      }
    }
    // end
    let rows = Double(passes * height) / Double(threads)
    while !areDone.wait(for: .milliseconds(40)) {
      show(rowsDone.map { min(1, Double($0.value) / rows) })
    }
    for worker in workers { try worker.join() }
    var result = self
    result.points = unsafe Array(pair.source)
    return result
  }

  /// Each point becomes the mean of the three by three around it.
  private func blurRow(_ y: Int, of pair: Pair) {
    let rows = max(0, y - 1)...min(height - 1, y + 1)
    for x in 0..<width {
      let columns = max(0, x - 1)...min(width - 1, x + 1)
      var sum = 0
      for row in rows {
        for column in columns { unsafe sum += Int(pair.source[row * width + column]) }
      }
      unsafe pair.target[y * width + x] = UInt8(sum / (rows.count * columns.count))
    }
  }
}
