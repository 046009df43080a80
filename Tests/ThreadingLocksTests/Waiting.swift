import Synchronization
import TestSupport
import Testing
import ThreadingPlatform

/// Runs `body` on a thread of its own and returns once that thread sleeps, which is to say, once it
/// waits for what the test is about.
///
/// - Returns: A function that joins the thread.
func waiting(_ body: @escaping @Sendable () -> Void) throws -> () -> Void {
  final class Started: Sendable {
    let id = Atomic<UInt32>(0)
  }
  let started = Started()
  let join = try inBackground {
    started.id.store(SystemThread.currentID, ordering: .releasing)
    body()
  }
  #expect(
    eventually {
      let id = started.id.load(ordering: .acquiring)
      return id != 0 && threadIsAsleep(id)
    })
  return join
}
