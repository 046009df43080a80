import Threading

extension LocksChapter {
  static func showInversion(on page: Page) throws {
    guard let cpus = try twoProcessors() else {
      page.skip("the urgent thread waits for one that has nothing to do with it")
      page.skip("with priority inheritance it does not")
      page.figure("why", "it takes two processors and the right to real time")
      return
    }
    page.claim(
      "the urgent thread waits for one that has nothing to do with it",
      try isSeen(["middle", "urgent"], .none, cpus))
    page.claim(
      "with priority inheritance it does not", try isSeen(["urgent", "middle"], .inherit, cpus))
    page.figure("where", "processor \(cpus.stage), with real-time priorities 10, 20 and 30")
  }

  /// Whether an order comes about. Real-time threads of other programs may come between on the same
  /// processor, so it is looked for a few times.
  private static func isSeen(
    _ wanted: [String], _ priorities: PosixMutex.PriorityProtocol,
    _ cpus: (stage: Int, others: CPUSet)
  ) throws -> Bool {
    for _ in 0..<5 where try order(priorities, cpus) == wanted { return true }
    return false
  }

  /// In which order an urgent thread gets a lock and a middling one is done with its work, when the
  /// lock is held by one with the lowest priority. All three run on one processor.
  static func order(
    _ priorities: PosixMutex.PriorityProtocol, _ cpus: (stage: Int, others: CPUSet)
  ) throws -> [String] {
    let events = Locked<[String]>([])
    let isHeld = CountdownLatch(1)
    let othersAreThere = AtomicFlag()
    func attributes(_ name: String, _ priority: Int) -> ThreadAttributes {
      ThreadAttributes(name: name, scheduling: .fifo(priority: priority), cpus: [cpus.stage])
    }
    // Whoever starts the three must be somewhere else, or it would never run.
    let me = ThreadHandle.current
    let mine = try me.affinity()
    try me.setAffinity(cpus.others)
    defer { try? me.setAffinity(mine) }

    // snippet: inversion
    let mutex = try PosixMutex(.init(priorityProtocol: priorities))
    let low = try PosixThread.start(attributes("low", 10)) {
      try mutex.withLock { _ in
        isHeld.countDown()
        while !othersAreThere.isSet {}
        work(.milliseconds(5))
      }
    }
    isHeld.wait()
    let urgent = try PosixThread.start(attributes("urgent", 30)) {
      try mutex.withLock { _ in events.withLock { $0.append("urgent") } }
    }
    _ = othersAreThere.testAndSet()
    let middle = try PosixThread.start(attributes("middle", 20)) {
      work(.milliseconds(60))
      events.withLock { $0.append("middle") }
    }
    // end
    try urgent.join()
    try middle.join()
    try low.join()
    return events.withLock { $0 }
  }

  /// Keeps the processor busy for some time.
  static func work(_ duration: Duration) {
    let end = MonotonicInstant.now.advanced(by: duration)
    while MonotonicInstant.now < end {}
  }

  /// A processor for the three threads, and the others; nil if there is one only, or real time is
  /// refused.
  private static func twoProcessors() throws -> (stage: Int, others: CPUSet)? {
    var others = try CPUSet.allowed()
    guard others.count > 1, let stage = others.numbers.last else { return nil }
    others.remove(stage)
    do throws(ThreadingError) {
      _ = try PosixThread.start(ThreadAttributes(scheduling: .fifo(priority: 30))) {}
    } catch {
      return nil
    }
    return (stage, others)
  }
}
