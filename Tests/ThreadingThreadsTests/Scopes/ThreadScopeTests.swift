import Synchronization
import TestSupport
import Testing
import Threading
import ThreadingThreads

private struct Refusal: Error, Equatable { let number: Int }

@Suite("Thread scopes", .endsInTime)
struct ThreadScopeTests {
  @Test("the values of the threads are collected, and all have ended")
  func values() throws {
    let ended = Atomic<Int>(0)
    let sum = try withThreads { scope in
      let threads = try (1...8).map { number in
        try scope.start {
          defer { ended.wrappingAdd(1, ordering: .relaxed) }
          return number
        }
      }
      return try threads.reduce(0) { try $0 + $1.join() }
    }
    #expect(sum == 36)
    #expect(ended.load(ordering: .relaxed) == 8)
  }

  @Test("the scope is left only when threads that nobody joined have ended, nested ones too")
  func notJoined() throws {
    let ended = Atomic<Int>(0)
    try withThreads { scope in
      for _ in 0..<4 {
        try scope.start {
          SystemThreadReport.nap()
          try scope.start {
            SystemThreadReport.nap()
            ended.wrappingAdd(1, ordering: .relaxed)
          }
          ended.wrappingAdd(1, ordering: .relaxed)
        }
      }
    }
    #expect(ended.load(ordering: .relaxed) == 8)
  }

  @Test("a thread of a scope that joins the one that waits for it is refused, at any depth")
  func ring() throws {
    let target = Shared.Flag()
    let handedOver = Locked<PosixThread<[String], Never>?>(nil)
    @Sendable func refusal() -> String {
      guard let thread = handedOver.withLock({ $0 }) else { return "no thread" }
      do {
        _ = try thread.join()
        return "joined"
      } catch {
        let text = "\(error)"
        return (text.contains("EDEADLK") ? "deadlock" : text)
          + (text.contains("\"owner\"") ? " of the owner" : "")
      }
    }
    let owner = PosixThread<[String], Never>(ThreadAttributes(name: "owner")) {
      target.wait()
      let seen = Locked<[String]>([])
      _ = try? withThreads { scope in
        try scope.start {
          seen.withLock { $0.append(refusal()) }
          _ = try withThreads { inner in
            try inner.start { seen.withLock { $0.append(refusal()) } }
          }
        }
      }
      return seen.withLock { $0 }
    }
    handedOver.withLock { $0 = owner }
    try owner.start()
    target.set()
    #expect(try owner.join() == ["deadlock of the owner", "deadlock of the owner"])
    handedOver.withLock { $0 = nil }
  }

  @Test("a stack of the caller's is free when the scope has been left")
  func stackOfCaller() throws {
    let stack = try unsafe ThreadStack(
      .allocate(byteCount: 256 * 1024, alignment: 4096), release: { unsafe $0.deallocate() })
    var attributes = ThreadAttributes()
    attributes.stack = stack
    for round in 0..<3 {
      let ran = Locked(0)
      try withThreads { scope in
        _ = try scope.start(attributes) { ran.withLock { $0 += 1 } }
        #expect(stack.isInUse)
      }
      #expect(!stack.isInUse, "round \(round)")
      #expect(ran.withLock { $0 } == 1)
    }
  }

  @Test("the first error cancels the other threads and is thrown when all have ended")
  func firstError() throws {
    let cancelled = Atomic<Int>(0)
    let gate = Shared.Flag()
    #expect(throws: Refusal(number: 1)) {
      try withThreads { scope in
        for _ in 0..<3 {
          try scope.start {
            do {
              try ThreadHandle.sleep(for: .seconds(600))
            } catch let error as ThreadCancelled {
              if error.reason?.contains("Refusal(number: 1)") == true {
                cancelled.wrappingAdd(1, ordering: .relaxed)
              }
              throw error
            }
          }
        }
        try scope.start {
          gate.wait()
          throw Refusal(number: 1)
        }
        gate.set()
      }
    }
    #expect(cancelled.load(ordering: .relaxed) == 3)
  }

  @Test("an error of the body itself does the same")
  func bodyError() throws {
    let wasCancelled = Shared.Flag()
    #expect(throws: Refusal(number: 2)) {
      try withThreads { scope in
        try scope.start {
          let slept: Void? = try? ThreadHandle.sleep(for: .seconds(600))
          if slept == nil { wasCancelled.set() }
        }
        throw Refusal(number: 2)
      }
    }
    #expect(wasCancelled.isSet)
  }

  @Test("cancelling the thread that waits in a scope cancels those of the scope, late ones too")
  func outerCancel() throws {
    let inner = Shared.Flag()
    let outer = try PosixThread.start { () -> Int in
      let counts = Atomic<Int>(0)
      _ = try? withThreads { scope in
        try scope.start {
          inner.set()
          if (try? ThreadHandle.sleep(for: .seconds(600))) == nil {
            counts.wrappingAdd(1, ordering: .relaxed)
          }
          try scope.start {
            if ThreadHandle.current.cancellationReason == "enough" {
              counts.wrappingAdd(1, ordering: .relaxed)
            }
          }
        }
      }
      return counts.load(ordering: .relaxed)
    }
    inner.wait()
    outer.cancel(reason: "enough")
    #expect(try outer.join() == 2)
  }

  @Test("a start that is refused does not end the scope")
  func refusedStart() throws {
    let value = try withThreads { scope in
      #expect(throws: ThreadingError.self) {
        try scope.start(ThreadAttributes(stackSize: 1)) {}
      }
      return try scope.start { 3 }.join()
    }
    #expect(value == 3)
  }

  @Test("a thousand threads in one scope")
  func many() throws {
    let count = Atomic<Int>(0)
    try withThreads { scope in
      for _ in 0..<1_000 {
        try scope.start(ThreadAttributes(stackSize: 64 * 1024)) {
          count.wrappingAdd(1, ordering: .relaxed)
        }
      }
    }
    #expect(count.load(ordering: .relaxed) == 1_000)
  }

  @Test("starting in a scope that has been left stops the program")
  func afterwards() async {
    await #expect(processExitsWith: .failure) {
      synchronously {
        let scope = try withThreads { $0 }
        try scope.start {}
      }
    }
  }
}
