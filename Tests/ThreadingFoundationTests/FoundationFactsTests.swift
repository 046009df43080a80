// What the documentation says of Foundation was measured with this version. Where it is another, this is the
// list to go through.
#if compiler(>=6.3) && compiler(<6.4)
  import Foundation
  import TestSupport
  import Testing
  import ThreadingFoundation

  @Suite("What the page for those who come from Foundation says of it", .endsInTime)
  struct FoundationFactsTests {
    @Test("a stack size below the minimum is ignored")
    func stackSize() {
      let thread = Foundation.Thread {}
      thread.stackSize = 5_000
      #expect(thread.stackSize != 5_000)
    }

    @Test("a name that is set before the start is lost")
    func name() {
      let name = Locked<String?>(nil)
      let isDone = ResetEvent(.manual)
      let thread = Foundation.Thread {
        name.withLock { $0 = Foundation.Thread.current.name }
        isDone.set()
      }
      thread.name = "before"
      thread.start()
      isDone.wait()
      #expect(name.withLock { $0 } != "before")
    }

    @Test("the blocks of an operation run one after the other")
    func blocks() {
      let inside = AtomicCounter()
      let most = AtomicCounter()
      let work: @Sendable () -> Void = {
        if inside.increment() == 2 { most.increment() }
        // Long enough for the others, if they were to come.
        _ = most.wait(for: .milliseconds(50)) { $0 > 0 }
        inside.decrement()
      }
      let operation = BlockOperation(block: work)
      operation.addExecutionBlock(work)
      operation.addExecutionBlock(work)
      operation.start()
      #expect(most.value == 0)
      #expect(inside.value == 0)
    }

    @Test("an operation whose only dependency is removed stays unready")
    func removedDependency() {
      let never = BlockOperation {}
      let operation = BlockOperation {}
      operation.addDependency(never)
      operation.removeDependency(never)
      #expect(!operation.isReady)
    }

    @Test("a timer that is added by hand fires at once")
    func timer() throws {
      let hasFired = AtomicFlag()
      let join = try inBackground {
        let timer = Foundation.Timer(timeInterval: 3_600, repeats: false) { _ in
          hasFired.testAndSet()
        }
        RunLoop.current.add(timer, forMode: .default)
        _ = RunLoop.current.run(mode: .default, before: Date(timeIntervalSinceNow: 5))
        timer.invalidate()
      }
      join()
      #expect(hasFired.isSet)
    }

    @Test("a block from another thread does not wake the loop")
    func perform() throws {
      let place = Place()
      let isThere = ResetEvent(.manual)
      let order = Locked<[String]>([])
      let join = try inBackground {
        _ = Foundation.Timer.scheduledTimer(withTimeInterval: 0.5, repeats: false) { _ in
          order.withLock { $0.append("the timer, half a second later") }
        }
        place.loop = RunLoop.current
        isThere.set()
        _ = RunLoop.current.run(mode: .default, before: Date(timeIntervalSinceNow: 5))
      }
      isThere.wait()
      // The loop sleeps by then. If it does not, the timer is first as well.
      _ = ResetEvent(.manual).wait(for: .milliseconds(100))
      place.loop?.perform { order.withLock { $0.append("the block") } }
      join()
      #expect(order.withLock { $0.first } == "the timer, half a second later")
    }

    /// Where a thread puts its loop for others.
    // SAFETY of @unchecked: written before an event is set that is waited for before it is read.
    private final class Place: @unchecked Sendable {
      var loop: RunLoop?
    }
  }
#endif
