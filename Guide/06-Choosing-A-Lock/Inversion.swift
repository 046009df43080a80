import Threading

extension LocksChapter {
  static func showInversion(on page: Page) throws {
    guard try isRealTimeAllowed() else {
      page.skip("the urgent thread waits for one that has nothing to do with it")
      page.skip("with priority inheritance it does not")
      page.figure("why", "it takes the right to real time")
      return
    }
    guard let stage = try CPUSet.allowed().numbers.last else { return }
    let (inversion, cure) = (Timeline(), Timeline())
    page.claim(
      "the urgent thread waits for one that has nothing to do with it",
      try order(.none, on: stage, inversion) == ["middle", "urgent"])
    page.draw(inversion.rows(["urgent", "middle", "low"]))
    page.claim(
      "with priority inheritance it does not",
      try order(.inherit, on: stage, cure) == ["urgent", "middle"])
    page.draw(cure.rows(["urgent", "middle", "low"]))
    page.figure("where", "processor \(stage), with real-time priorities 10, 20 and 30")
  }

  /// In which order an urgent thread gets a lock and a middling one does its work, when the lock is held
  /// by one with the lowest priority. All three run on one processor.
  ///
  /// No thread is busy while another is started: a new thread is an ordinary one until it has set its
  /// priority, and would get that far only in the moments that the kernel keeps for ordinary threads on a
  /// processor with busy real-time threads.
  static func order(
    _ priorities: PosixMutex.PriorityProtocol, on stage: Int, _ story: Timeline
  ) throws -> [String] {
    func attributes(_ name: String, _ priority: Int) -> ThreadAttributes {
      ThreadAttributes(name: name, scheduling: .fifo(priority: priority), cpus: [stage])
    }
    let (middleIsThere, middleMayWork) = (CountdownLatch(1), CountdownLatch(1))
    let (lockIsHeld, urgentIsThere) = (CountdownLatch(1), CountdownLatch(1))
    // snippet: inversion
    let mutex = try PosixMutex(.init(priorityProtocol: priorities))
    let middle = try PosixThread.start(attributes("middle", 20)) {
      middleIsThere.countDown()
      middleMayWork.wait()
      story.add("middle", "works")
    }
    middleIsThere.wait()
    let low = try PosixThread.start(attributes("low", 10)) {
      try mutex.withLock { _ in
        story.add("low", "takes the lock")
        lockIsHeld.countDown()
        urgentIsThere.wait()
        middleMayWork.countDown()
        story.add("low", "gives it back")
      }
    }
    lockIsHeld.wait()
    let urgent = try PosixThread.start(attributes("urgent", 30)) {
      story.add("urgent", "wants it")
      urgentIsThere.countDown()
      try mutex.withLock { _ in story.add("urgent", "has it") }
    }
    // end
    try middle.join()
    try urgent.join()
    try low.join()
    return story.threads(that: "works", "has it")
  }

  /// Keeps the processor busy for some time.
  static func work(_ duration: Duration) {
    let end = MonotonicInstant.now.advanced(by: duration)
    while MonotonicInstant.now < end {}
  }

  static func isRealTimeAllowed() throws -> Bool {
    do throws(ThreadingError) {
      try PosixThread.start(ThreadAttributes(scheduling: .fifo(priority: 30))) {}.join()
      return true
    } catch {
      return false
    }
  }
}
