import Dispatch
import Glibc
import TestSupport
import Threading
import ThreadingPlatform
import XCTest

@testable import ThreadingRunLoop

// XCTest, since it runs its tests on the main thread. Swift Testing does not, and gives the main
// queue away to Dispatch's own threads before its tests run.
final class MainRunLoopTests: XCTestCase {
  func testRunsOnTheMainThread() {
    XCTAssertTrue(ThreadRunLoop.main.isCurrent)
    XCTAssertTrue(ThreadRunLoop.main === ThreadRunLoop.current)
  }

  /// Named to be the first: the loop must not have its descriptors yet.
  func test1WithoutDescriptorsTheQueueIsPolledUntilThereAreSome() throws {
    let loop = ThreadRunLoop.main
    guard loop.mainQueueService == .unknown else { throw XCTSkip("the loop has run before") }
    // Has Dispatch make its own descriptors first.
    _ = MainDispatchQueue.descriptor
    var before = rlimit()
    _ = unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &before)
    var none = rlimit(rlim_cur: 0, rlim_max: before.rlim_max)
    _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &none)
    let flag = ExitFlag()
    let join = try inBackground {
      _ = eventually { loop.isAsleep }
      DispatchQueue.main.async { flag.set() }
    }
    let reason = loop.run(until: flag, deadline: .now.advanced(by: .seconds(40)))
    let service = loop.mainQueueService
    _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &before)
    join()
    XCTAssertEqual(reason, .flagSet)
    XCTAssertEqual(service, .byPolling)
    loop.poll()
    XCTAssertEqual(loop.mainQueueService, .bySource)
  }

  func testServesTheMainQueueWhileItSleeps() throws {
    let loop = ThreadRunLoop.main
    let ran = Shared<[String]>([])
    let flag = ExitFlag()
    let join = try inBackground {
      _ = eventually { loop.isAsleep }
      DispatchQueue.main.async {
        ran.append("queue on main: \(SystemThread.currentID == SystemThread.processID)")
        flag.set()
      }
    }
    XCTAssertEqual(loop.run(until: flag, deadline: .now.advanced(by: .seconds(40))), .flagSet)
    join()
    XCTAssertEqual(ran.value, ["queue on main: true"])
  }

  func testPerformOnMainThreadRunsThereWhateverThreadAsks() throws {
    let flag = ExitFlag()
    let ran = Shared<[String]>([])
    let join = try inBackground {
      for number in 1...3 {
        XCTAssertTrue(
          ThreadRunLoop.performOnMainThread {
            MainActor.preconditionIsolated()
            ran.append("\(number) \(ThreadHandle.current.isMain)")
            if number == 3 { flag.set() }
          })
      }
    }
    let reason = ThreadRunLoop.main.run(until: flag, deadline: .now.advanced(by: .seconds(40)))
    join()
    XCTAssertEqual(reason, .flagSet)
    XCTAssertEqual(ran.value, ["1 true", "2 true", "3 true"])
  }

  func testServesTheMainActor() {
    let loop = ThreadRunLoop.main
    let rounds = Shared(0)
    let flag = ExitFlag()
    Task.detached {
      for _ in 0..<200 {
        await countOnMainActor(rounds)
      }
      flag.set()
    }
    XCTAssertEqual(loop.run(until: flag, deadline: .now.advanced(by: .seconds(40))), .flagSet)
    XCTAssertEqual(rounds.value, 200)
  }

  func testABurstFromManyThreadsIsServedWhole() throws {
    let loop = ThreadRunLoop.main
    let count = Shared(0)
    let flag = ExitFlag()
    let join = try inBackground {
      try? concurrently(3) { _ in
        for _ in 0..<2_000 {
          DispatchQueue.main.async {
            count.change { $0 += 1 }
            if count.value == 6_000 { flag.set() }
          }
        }
      }
    }
    XCTAssertEqual(loop.run(until: flag, deadline: .now.advanced(by: .seconds(40))), .flagSet)
    join()
    XCTAssertEqual(count.value, 6_000)
  }

  func testOtherInputsAreServedBesideIt() {
    let loop = ThreadRunLoop.main
    let log = Shared<[String]>([])
    loop.perform { log.append("block") }
    DispatchQueue.main.async { log.append("queue") }
    try? loop.add(
      ThreadTimer(after: .milliseconds(5)) { _ in
        log.append("timer")
        loop.stop()
      })
    XCTAssertEqual(loop.run(for: .seconds(40)), .stopped)
    XCTAssertEqual(log.value, ["block", "queue", "timer"])
  }

  func testTheQueueDoesNotKeepARunGoing() {
    let loop = ThreadRunLoop.main
    XCTAssertEqual(loop.run(), .finished)
  }

  func testARunThatEndsHasServedWhatATimerAndAnIdleBlockPutOnTheQueue() {
    let loop = ThreadRunLoop.main
    let log = Shared<[String]>([])
    try? loop.add(
      ThreadTimer(after: .milliseconds(5)) { _ in
        DispatchQueue.main.async { log.append("of the timer") }
      })
    XCTAssertEqual(loop.run(), .finished)
    XCTAssertEqual(log.value, ["of the timer"])
    loop.performWhenIdle { DispatchQueue.main.async { log.append("of the idle block") } }
    XCTAssertEqual(loop.run(), .finished)
    XCTAssertEqual(log.value, ["of the timer", "of the idle block"])
  }

  func testARunThatEndsHasServedWhatWasOnTheQueueAndWhatThatPutThere() {
    let loop = ThreadRunLoop.main
    let log = Shared<[String]>([])
    DispatchQueue.main.async {
      log.append("first")
      DispatchQueue.main.async { log.append("second") }
    }
    XCTAssertEqual(loop.run(), .finished)
    XCTAssertEqual(log.value, ["first", "second"])
  }

  func testCodeAfterAnAwaitContinuesOnTheMainThread() {
    let loop = ThreadRunLoop.main
    let flag = ExitFlag()
    let places = Shared<[UInt32]>([])
    let executor = RunLoopExecutor(loop)
    Task(executorPreference: executor) {
      places.append(SystemThread.currentID)
      await Task.yield()
      places.append(SystemThread.currentID)
      try? await Task.sleep(for: .milliseconds(1))
      places.append(SystemThread.currentID)
      try? await loop.sleep(for: .milliseconds(1))
      places.append(SystemThread.currentID)
      // Work on a thread of the pool in between.
      _ = await Task.detached { SystemThread.currentID }.value
      places.append(SystemThread.currentID)
      await countOnMainActor(Shared(0))
      places.append(SystemThread.currentID)
      flag.set()
    }
    XCTAssertEqual(loop.run(until: flag, deadline: .now.advanced(by: .seconds(40))), .flagSet)
    XCTAssertEqual(places.value, Array(repeating: SystemThread.processID, count: 6))
  }

  func testInAModeOutsideTheCommonSetTheQueueWaits() {
    let loop = ThreadRunLoop.main
    let ran = Shared(false)
    DispatchQueue.main.async { ran.set(true) }
    XCTAssertEqual(loop.poll(mode: ThreadRunLoop.Mode("private")), .finished)
    XCTAssertFalse(ran.value)
    while !ran.value { loop.run(mode: .default, until: .now.advanced(by: .seconds(40))) }
  }
}

@MainActor
private func countOnMainActor(_ rounds: Shared<Int>) {
  precondition(SystemThread.currentID == SystemThread.processID)
  rounds.change { $0 += 1 }
}
