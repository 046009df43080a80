internal import ThreadingPlatform

// What the steps of a pass serve.
extension ThreadRunLoop {
  // MARK: Sources

  /// Serves the sources that were signalled before the call.
  ///
  /// - Returns: whether any was.
  func serveSignalled(in modes: UInt64) -> Bool {
    let signalled = items.withLock { $0.sources.takeSignalled() }
    guard !signalled.isEmpty else { return false }
    ready += signalled
    return serveReady(in: modes)
  }

  /// Serves the sources that are ready.
  ///
  /// - Returns: whether any was, and had something to be called for.
  func serveReady(in modes: UInt64) -> Bool {
    let found = items.withLock { $0.sources.takeFound() }
    ready += found
    guard readyPosition < ready.count else { return false }
    var served = false
    // A nested run goes on with what is left, from the same position.
    while readyPosition < ready.count {
      let event = ready[readyPosition]
      readyPosition += 1
      let next = items.withLock { $0.sources.job(for: event, in: modes, wait: waitNumber) }
      guard let next else { continue }
      let outer = calls.begin(next.job.activity, next.job.labelNumber)
      if next.job.run() { served = true }
      calls.end(outer)
    }
    items.withLock { $0.sources.dropLostRegistrations() }
    return served
  }

  // MARK: Posted blocks

  /// Runs what was posted before the call, up to the limit.
  ///
  /// - Returns: whether there was anything.
  func runPosted(in modes: UInt64) -> Bool {
    takePosted()
    var ran = 0
    var used = UsedPlaces()
    while ran < Self.blockLimit, let block = unsafe pending.popFirst() {
      if unsafe runOrDefer(block, modes, &used) { ran += 1 }
    }
    used.giveBack()
    return ran > 0
  }

  /// Runs what was posted before the call, without a limit.
  func runAllPosted(in modes: UInt64) {
    takePosted()
    var used = UsedPlaces()
    while let block = unsafe pending.popFirst() { _ = unsafe runOrDefer(block, modes, &used) }
    used.giveBack()
  }

  func takePosted() {
    unsafe pending.append(newestFirst: inbox.takeAll())
  }

  /// Runs a block and frees it, or keeps it for a run in its modes.
  private func runOrDefer(
    _ block: UnsafeMutablePointer<PostedBlock>, _ modes: UInt64, _ used: inout UsedPlaces
  ) -> Bool {
    if unsafe block.pointee.modes & modes == 0 {
      unsafe deferred.append(block)
      return false
    }
    let contents = unsafe block.move()
    unsafe used.add(block, number: contents.number)
    let outer = calls.begin(.block)
    unsafe contents.work.run()
    calls.end(outer)
    return true
  }
}
