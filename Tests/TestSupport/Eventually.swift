import ThreadingPlatform

/// Waits until `condition` holds, for what can only be observed from outside (a thread that sleeps
/// in the kernel, say). Gives up after a minute, far beyond what any healthy run takes.
///
/// - Returns: whether the condition came to hold.
public func eventually(_ condition: () -> Bool) -> Bool {
  let limit = MonotonicInstant.now.advanced(by: .seconds(60))
  while !condition() {
    if MonotonicInstant.now > limit { return false }
    SystemThread.sleep(until: .now.advanced(by: .milliseconds(1)))
  }
  return true
}
