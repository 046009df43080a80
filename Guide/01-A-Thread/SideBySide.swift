import ThreadingFoundation

extension ThreadChapter {
  // snippet: sidebyside
  /// Lets two threads count, and shows meanwhile how far each is.
  ///
  /// - Returns: whether both were under way at the same time.
  static func countSideBySide(
    to end: Int, pace: Duration, show: ([Int]) -> Void
  ) throws -> Bool {
    let counts = [AtomicCounter(), AtomicCounter()]
    let halfWay = CyclicBarrier(2)  // lets nobody on until two are there
    let threads = try counts.map { count in
      try PosixThread.start {
        var haveMet = false
        for step in 1...end {
          if step == end / 2 { haveMet = halfWay.wait(for: .seconds(20)).isPassed }
          try ThreadHandle.sleep(for: pace)
          count.increment()
        }
        return haveMet
      }
    }
    while try threads.contains(where: { try $0.join(for: .milliseconds(20)) == nil }) {
      show(counts.map(\.value))
    }
    return try threads.allSatisfy { try $0.join() }
  }
  // end
}
