import Glibc
import Synchronization
import TestSupport
import Testing
import Threading
import ThreadingPlatform

/// Whether tests run in their full length: with THREADING_LONG_TESTS set in the environment.
private let isLong = unsafe getenv("THREADING_LONG_TESTS") != nil

private let stackSize = 65_536

/// Ends the test's own process with a status that says what was wrong: the report shows it.
private func check(_ holds: Bool, else status: Int32) {
  if !holds { SystemThreadReport.leave(status) }
}

/// What thousands of threads have left: a few mappings, threads and descriptors may be the test library's,
/// and the C library keeps some stacks, with what was used of them.
private func checkGrowth(since before: ProcessFigures) {
  let kept = ProcessFigures.mapsOfKeptStacks(ofBytes: stackSize)
  check(eventually { ProcessFigures.now().maps <= before.maps + kept + 20 }, else: 11)
  check(eventually { ProcessFigures.now().threads <= before.threads + 4 }, else: 12)
  check(eventually { ProcessFigures.now().descriptors <= before.descriptors + 4 }, else: 13)
  let growth = ProcessFigures.now().residentBytes - before.residentBytes
  check(growth < (4 << 20) + kept / 2 * 16_384, else: 14)
}

/// Each in a process of its own, so that what others leave behind is not counted.
@Suite("Many threads, one after another", .endsInTime)
struct ManyThreadsTests {
  @Test(
    "short threads whose handles nobody keeps leave nothing, and the last starts as fast as the first",
    .enabled(if: !ThreadSanitizer.isActive))
  func dropped() async {
    await #expect(processExitsWith: .success) {
      synchronously {
        let batches = isLong ? 50 : 8
        var times: [Int64] = []
        func runBatch() throws {
          let begin = ProcessUsage.now()
          for _ in 0..<1_000 {
            let thread = try PosixThread.start(ThreadAttributes(stackSize: stackSize)) {}
            _ = thread.handle.waitForEnd(until: .distantFuture)
          }
          times.append((ProcessUsage.now() - begin).cpuNanoseconds)
        }
        try runBatch()
        let before = ProcessFigures.now()
        for _ in 1..<batches { try runBatch() }
        checkGrowth(since: before)
        // Of processor time: the machine may be busy with other things.
        let first = times.prefix(batches / 2).min() ?? 0
        let last = times.suffix(batches / 2).min() ?? 0
        check(last < first * 3, else: 15)
      }
    }
  }

  @Test("detached threads leave nothing", .enabled(if: !ThreadSanitizer.isActive))
  func detached() async {
    await #expect(processExitsWith: .success) {
      synchronously {
        func runMany(_ count: Int) throws {
          for _ in 0..<count {
            let counted = Shared.Counted()
            let handle = try PosixThread.detach(ThreadAttributes(stackSize: stackSize)) {
              withExtendedLifetime(counted) {}
            }
            while handle.state != .finished { waitABit() }
          }
        }
        try runMany(1_000)
        let before = ProcessFigures.now()
        try runMany(isLong ? 100_000 : 8_000)
        check(eventually { Shared.Counted.alive.load(ordering: .relaxed) == 0 }, else: 10)
        checkGrowth(since: before)
      }
    }
  }
}
