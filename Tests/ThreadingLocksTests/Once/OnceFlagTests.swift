import Synchronization
import TestSupport
import Testing
import ThreadingLocks
import ThreadingPlatform

private struct Refusal: Error, Equatable {
  let attempt: Int
}

@Suite("OnceFlag", .endsInTime)
struct OnceFlagTests {
  private final class Shared: Sendable {
    let flag = OnceFlag()
    let value = Unguarded(0)
  }

  @Test("runs the body once")
  func once() {
    let flag = OnceFlag()
    var count = 0
    #expect(flag.isDone == false)
    #expect(flag.runOnce { count += 1 } == true)
    #expect(flag.isDone == true)
    #expect(flag.runOnce { count += 1 } == false)
    #expect(count == 1)
  }

  @Test("an error counts as not done")
  func failing() {
    let flag = OnceFlag()
    #expect(throws: Refusal(attempt: 1)) {
      try flag.runOnce { () throws(Refusal) in throw Refusal(attempt: 1) }
    }
    #expect(flag.isDone == false)
    #expect(flag.runOnce {} == true)
  }

  @Test("those that come meanwhile wait until it is done", .endsInTime)
  func waiters() throws {
    let shared = Shared()
    let mayEnd = CountdownLatch(1)
    let first = try waiting {
      shared.flag.runOnce {
        mayEnd.wait()
        shared.value.value = 1
      }
    }
    let others = try (0..<3).map { _ in
      try waiting {
        #expect(shared.flag.runOnce { Issue.record("run twice") } == false)
        #expect(shared.value.value == 1)
      }
    }
    mayEnd.countDown()
    first()
    for other in others { other() }
  }

  @Test(
    "of those that race, one runs the body, or one more for each error", .endsInTime)
  func race() throws {
    for round in 0..<500 {
      let shared = Shared()
      let failures = round % 3
      let attempts = Atomic(0)
      let ran = Atomic(0)
      try concurrently(4) { _ in
        while true {
          do {
            let mine = try shared.flag.runOnce { () throws(Refusal) in
              shared.value.value += 1
              let attempt = attempts.wrappingAdd(1, ordering: .relaxed).newValue
              if attempt <= failures { throw Refusal(attempt: attempt) }
            }
            if mine { ran.wrappingAdd(1, ordering: .relaxed) }
            return
          } catch {
            continue
          }
        }
      }
      #expect(ran.load(ordering: .relaxed) == 1)
      #expect(shared.value.value == failures + 1)
    }
  }

  @Test("a body that uses its own flag stops the program")
  func recursion() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let flag = OnceFlag()
      flag.runOnce { flag.runOnce {} }
    }
    #expect(message(of: result).contains("OnceFlag.runOnce: called by its own body"))
  }
}
