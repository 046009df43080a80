import TestSupport
import Testing
import Threading
import ThreadingPlatform

@Suite("Running the loop of a cancelled thread", .endsInTime)
struct RunCancellationTests {
  @Test("a run that sleeps ends when its thread is cancelled, on the word and in the poller")
  func sleeping() throws {
    let signal = OwnSignal.take()
    for needsPoller in [false, true] {
      let made = Shared<ThreadRunLoop?>(nil)
      let thread = try PosixThread.start { () -> ThreadRunLoop.ExitReason in
        let loop = ThreadRunLoop.current
        let source = needsPoller ? try? SignalSource(signal) { _, _ in } : nil
        if let source { try? loop.add(source) }
        defer { source?.cancel() }
        made.set(loop)
        return loop.run(until: ExitFlag())
      }
      let loop = made.wait { $0 }
      #expect(eventually { loop.isAsleep })
      thread.cancel()
      #expect(try thread.join() == .cancelled)
    }
  }

  @Test("all runs end, the inner ones first, and later ones after one pass")
  func nested() throws {
    let isInside = Shared(false)
    let thread = try PosixThread.start { () -> [ThreadRunLoop.ExitReason] in
      let loop = ThreadRunLoop.current
      var reasons: [ThreadRunLoop.ExitReason] = []
      let inner = Shared<ThreadRunLoop.ExitReason?>(nil)
      loop.perform {
        isInside.set(true)
        inner.set(ThreadRunLoop.current.run(until: ExitFlag()))
      }
      reasons.append(loop.run(until: ExitFlag()))
      let served = Shared(false)
      loop.perform { served.set(true) }
      reasons.append(loop.run(for: .seconds(30)))
      if let first = inner.value, served.value { reasons.append(first) }
      return reasons
    }
    isInside.waitUntil { $0 }
    thread.cancel()
    #expect(try thread.join() == [.cancelled, .cancelled, .cancelled])
  }

  @Test("a cancellation that meets the moment of falling asleep is seen", arguments: [200])
  func race(rounds: Int) throws {
    for _ in 0..<rounds {
      let made = Shared<ThreadRunLoop?>(nil)
      let thread = try PosixThread.start { () -> ThreadRunLoop.ExitReason in
        made.set(.current)
        return ThreadRunLoop.current.run(until: ExitFlag())
      }
      _ = made.wait { $0 }
      thread.cancel()
      #expect(try thread.join() == .cancelled)
    }
  }
}
