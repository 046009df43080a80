import Glibc
import TestSupport
import Testing
import ThreadingPlatform

@Suite("Poller", .endsInTime)
struct PollerTests {
  @Test("a wake ends the wait in progress, or the next one; several count once")
  func wake() throws {
    let poller = try Poller()
    var ready: [Poller.Event] = []
    poller.wake()
    poller.wake()
    #expect(poller.wait(until: .distantFuture, into: &ready))
    #expect(!poller.wait(until: .now, into: &ready))
    let join = try inBackground { poller.wake() }
    #expect(poller.wait(until: .distantFuture, into: &ready))
    join()
    #expect(ready.isEmpty)
  }

  @Test("a wait lasts until its deadline, and a deadline that has passed is a look")
  func deadline() throws {
    let poller = try Poller()
    var ready: [Poller.Event] = []
    let deadline = MonotonicInstant.now.advanced(by: .milliseconds(20))
    #expect(!poller.wait(until: deadline, into: &ready))
    #expect(MonotonicInstant.now >= deadline)
    #expect(!poller.wait(until: MonotonicInstant(nanoseconds: .min), into: &ready))
  }

  // Closed numbers may come to stand for what another test opens, hence processes of their own.

  @Test("a descriptor that was closed, or whose number stands for something else, is known")
  func isWatching() async {
    await #expect(processExitsWith: .success) {
      precondition(inForkedChild { (try? PollerTests.checkIsWatching()) != nil } == 0)
    }
  }

  fileprivate static func checkIsWatching() throws {
    let poller = try Poller()
    var ends: [CInt] = [0, 0]
    precondition(unsafe pipe(&ends) == 0)
    let (reader, writer) = (ends[0], ends[1])
    try poller.add(reader, for: .readable, trigger: .level, token: 1)
    precondition(poller.isWatching(reader))
    precondition(!poller.isWatching(writer))
    // The number comes to stand for the other end.
    dup2(writer, reader)
    precondition(!poller.isWatching(reader))
    precondition(!poller.isWatching(reader))
    close(reader)
    close(writer)
  }

  @Test("a registration that outlives its number goes on until the poller starts anew")
  func startAnew() async {
    await #expect(processExitsWith: .success) {
      precondition(inForkedChild { (try? PollerTests.checkStartAnew()) != nil } == 0)
    }
  }

  fileprivate static func checkStartAnew() throws {
    let poller = try Poller()
    var ends: [CInt] = [0, 0]
    precondition(unsafe pipe(&ends) == 0)
    let copy = dup(ends[0])
    try poller.add(ends[0], for: .readable, trigger: .level, token: 1)
    close(ends[0])
    precondition(!poller.remove(ends[0]))
    var byte: UInt8 = 1
    _ = unsafe write(ends[1], &byte, 1)
    var ready: [Poller.Event] = []
    _ = poller.wait(until: .now, into: &ready)
    precondition(ready.map(\.token) == [1])
    try poller.startAnew([(copy, .readable, .level, 2)])
    ready = []
    _ = poller.wait(until: .now, into: &ready)
    precondition(ready.map(\.token) == [2])
    poller.wake()
    ready = []
    precondition(poller.wait(until: .distantFuture, into: &ready))
    close(copy)
    close(ends[1])
  }

  @Test("out of descriptors, making a poller says so and leaves nothing open")
  func outOfDescriptors() async {
    await #expect(processExitsWith: .success) {
      // A forked child has one thread: nobody else opens descriptors there.
      let status = inForkedChild {
        // Room for one more descriptor: the second of the two that a poller needs is refused.
        let next = dup(0)
        close(next)
        var limit = rlimit(rlim_cur: UInt(next) + 1, rlim_max: UInt(next) + 1)
        _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        for _ in 0..<3 {
          do throws(ThreadingError) {
            _ = try Poller()
            return false
          } catch {
            guard error.codeName == "EMFILE", error.message.contains("RLIMIT_NOFILE") else {
              return false
            }
          }
        }
        return dup(0) == next
      }
      precondition(status == 0, "\(status)")
    }
  }
}
