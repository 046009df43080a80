import Threading

extension TalkingChapter {
  static func listenToChild() throws -> (lines: [String], ending: ProcessSource.Ending?) {
    try LoopChapter.onLoop { loop in
      let lines = Locked<[String]>([])
      let ending = Locked<ProcessSource.Ending?>(nil)
      let script = "echo from the child; echo and once more; exit 3"
      // snippet: child
      let child = try ChildCommand(["/bin/sh", "-c", script])
      try loop.add(
        LineSource(child.output.number) { _, event in
          if case .line(let line) = event { lines.withLock { $0.append(line.text) } }
        })
      try loop.add(
        ProcessSource(child.processID) { _, how in
          ending.withLock { $0 = how }
        })
      _ = withExtendedLifetime(child) {
        loop.run()  // returns when both sources are done
      }
      // end
      return (lines.withLock { $0 }, ending.withLock { $0 })
    }
  }
}
