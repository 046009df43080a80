import Synchronization
import TestSupport
import Testing
import ThreadingLocks
import ThreadingPlatform

/// A limit that has passed: a wait with it goes through all steps of waiting and gives up at once.
/// So giving up meets being served far more often than with any limit that is still to come.
let passed = MonotonicInstant(nanoseconds: 0)

/// Waits with a limit that has passed, a few times, and then with one that no healthy run reaches:
/// giving up without an end would keep the thread that is waited for from its processor, and a wait
/// without a limit would turn a wake that is lost into a test that does not end.
func waitImpatiently(_ wait: (MonotonicInstant) -> Bool) {
  for _ in 0..<2 where wait(passed) { return }
  if !wait(.now.advanced(by: .seconds(40))) { Issue.record("what is waited for did not come") }
}

/// Runs `body` on `count` threads that begin at the same moment: without that, on a busy machine,
/// one has often ended before the next has begun.
func together(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) throws {
  let ready = AtomicCounter()
  try concurrently(count) { index in
    ready.increment()
    // Spinning, so that those that have a processor at that moment still have it after.
    var spins = 0
    while ready.value < count {
      spins += 1
      if spins.isMultiple(of: 256) { SystemThread.yield() }
    }
    body(index)
  }
}

/// Has one thread serve what another one waits for with a limit that has passed, again and again,
/// both spinning: so a wait that gives up meets being served.
///
/// A round takes a few steps while both run, and a time slice while they do not, so it is the time
/// that is bounded and not the rounds.
///
/// - Parameters:
///   - serve: Lets one wait through, once.
///   - wait: A wait that gives up at once; says whether it was let through.
/// - Throws: What starting threads throws.
func serveThoseThatGiveUp(
  serve: @escaping @Sendable () -> Void, wait: @escaping @Sendable (MonotonicInstant) -> Bool
) throws {
  let taken = Atomic(0)
  let isOver = Atomic(false)
  let end = MonotonicInstant.now.advanced(by: .milliseconds(LongTests.areOn ? 60_000 : 500))
  try together(2) { index in
    if index == 0 {
      var given = 0
      while MonotonicInstant.now < end {
        serve()
        given += 1
        let limit = MonotonicInstant.now.advanced(by: .seconds(30))
        while taken.load(ordering: .relaxed) < given && MonotonicInstant.now < limit {}
        if taken.load(ordering: .relaxed) != given {
          Issue.record("\(taken.load(ordering: .relaxed)) were let through, not \(given)")
          break
        }
      }
      isOver.store(true, ordering: .relaxed)
    } else {
      while !isOver.load(ordering: .relaxed) {
        if wait(passed) { taken.wrappingAdd(1, ordering: .relaxed) }
      }
    }
  }
  #expect(taken.load(ordering: .relaxed) > 0)
  #expect(!wait(passed))
}

/// Runs `body` with as many objects as there are rounds, on `count` threads at once, a thousand
/// rounds for each start of the threads: for objects that are used up by one round.
func inRounds<Object: Sendable>(
  _ rounds: Int, threads count: Int, _ make: () -> Object,
  _ body: @escaping @Sendable (_ thread: Int, _ round: Int, Object) -> Void
) throws {
  var done = 0
  while done < rounds {
    let first = done
    let objects = (0..<min(1_000, rounds - done)).map { _ in make() }
    try together(count) { thread in
      for (offset, object) in objects.enumerated() { body(thread, first + offset, object) }
    }
    done += objects.count
  }
}

extension Int {
  /// Itself, well mixed: so that the sum of many does not come out right by chance.
  var mixed: Int {
    var generator = SeededGenerator(seed: UInt64(bitPattern: Int64(self)))
    return Int(truncatingIfNeeded: generator.next())
  }
}
