import Threading

extension TroubleChapter {
  static func stallOfLoop() throws -> RunLoopWatchdog.Stall {
    let stalls = Locked<[RunLoopWatchdog.Stall]>([])
    let isReported = AtomicFlag()
    // snippet: watchdog
    let watchdog = try RunLoopWatchdog(limit: .milliseconds(10)) { stall in
      stalls.withLock { $0.append(stall) }
      _ = isReported.testAndSet()
    }
    try LoopChapter.onLoop { loop in
      watchdog.watch(loop)
      let timer = try ThreadTimer(after: .milliseconds(1)) { _ in
        isReported.wait()  // as long as it takes: a timer must not do this
      }
      try loop.add(timer)
      loop.run()
      watchdog.unwatch(loop)
    }
    // end
    return stalls.withLock { $0[0] }
  }

  static func relock() {
    // snippet: label
    let guests = Locked([String](), label: "the list of guests")
    guests.withLock { _ in
      guests.withLock { $0.append("nobody") }
    }
    // end
  }
}
