import Glibc
import TestSupport
import Testing
import Threading
import ThreadingPlatform

/// What a call that must fail in a forked child threw.
private func refusal(_ body: () throws -> Void) -> ThreadingError? {
  do {
    try body()
    return nil
  } catch {
    return error as? ThreadingError
  }
}

private func isLost(_ error: ThreadingError?, _ call: String) -> Bool {
  guard let error else { return false }
  return error.call == call && error.codeName == "ESRCH"
    && error.message.contains("the parent process's")
}

/// Whether the thread of other origin that forked can use its handle, and is not taken for the main thread.
private func isWholeForeign(generation: Int) -> Bool {
  let me = ThreadHandle.current
  me.name = "forks"
  me.dictionary["own"] = generation
  me.onCancel {}.remove()
  return ForkedProcess.generation == generation && !me.isLostToFork && me.isCurrent && !me.isMain
    && me.kernelID == SystemThread.processID && me.name == "forks"
    && ThreadDictionary.current["own"] as? Int == generation && ThreadHandle.main.isLostToFork
}

@Suite("Threads after a fork", .endsInTime)
struct ForkTests {
  @Test("the mark is set in the child alone, and counts forks of forks")
  func mark() async {
    await #expect(processExitsWith: .success) {
      precondition(!ForkedProcess.isCurrent && ForkedProcess.generation == 0)
      let status = inForkedChild {
        let grandchild = inForkedChild { ForkedProcess.generation == 2 }
        return ForkedProcess.isCurrent && ForkedProcess.generation == 1 && grandchild == 0
      }
      requireSuccess(ofChild: status)
      precondition(!ForkedProcess.isCurrent)
    }
  }

  @Test(
    "a main thread that forks before it has a handle is the child's main thread, for others too",
    // The thread sanitizer does not let a forked child start threads.
    .enabled(if: !ThreadSanitizer.isActive))
  func mainWithoutHandle() {
    #expect(ProbeProgram.run("threads-probe", ["fork"]).status == 0)
  }

  @Test("a thread of other origin that forks before it has a handle has its own in the child")
  func foreignWithoutHandle() async {
    await #expect(processExitsWith: .success) {
      synchronously {
        let status = Locked<CInt>(-1)
        let join = try inBackground {
          let child = inForkedChild {
            isWholeForeign(generation: 1)
              && inForkedChild { isWholeForeign(generation: 2) } == 0
          }
          status.withLock { $0 = child }
        }
        join()
        requireSuccess(ofChild: status.withLock { $0 })
      }
    }
  }

  @Test(
    "a thread that forked is seen by others of the child as what it is: not the main thread",
    // The thread sanitizer does not let a forked child start threads.
    .enabled(if: !ThreadSanitizer.isActive))
  func forkerSeenByOthers() async {
    await #expect(processExitsWith: .success) {
      synchronously {
        ThreadHandle.main.name = "of the parent"
        let worker = try PosixThread.start(ThreadAttributes(name: "forker", stackSize: 65_536)) {
          () -> CInt in
          let me = ThreadHandle.current
          guard let size = try? me.stackUsage().size else { return -1 }
          return inForkedChild {
            guard (try? me.stackUsage().size) == size else { return false }
            let other = try? PosixThread.start(ThreadAttributes(name: "other")) { () -> Bool in
              let seen = ThreadSnapshot(id: SystemThread.processID)
              return seen?.handle === me && seen?.name == "forker" && seen?.origin == .posix
                && seen?.stack?.size == size
            }
            return (try? other?.join()) == true
          }
        }
        requireSuccess(ofChild: try worker.join())
        let main = ThreadSnapshot(id: SystemThread.processID)
        precondition(main?.handle === ThreadHandle.main && main?.name == "of the parent")
      }
    }
  }

  @Test("the processors of a child are the parent's, also if the thread that forked is pinned")
  func forkedByPinned() async {
    await #expect(processExitsWith: .success) {
      synchronously {
        let all = try CPUSet.allowed()
        let first = CPUSet(all.numbers.prefix(1))
        let forker = try PosixThread.start(ThreadAttributes(cpus: first)) { () -> CInt in
          inForkedChild {
            guard (try? CPUSet.allowed()) == all,
              (try? ThreadHandle.current.setAffinity(all)) != nil
            else { return false }
            return (try? ThreadHandle.current.affinity()) == all && (try? CPUSet.allowed()) == all
          }
        }
        requireSuccess(ofChild: try forker.join())
        let after = try CPUSet.allowed()
        precondition(after == all)
      }
    }
  }

  @Test("calls on a thread of the parent's are errors in the child, and none hangs")
  func lostThread() async {
    await #expect(processExitsWith: .success) {
      synchronously {
        let gate = Shared.Gate()
        let thread = try PosixThread.start(ThreadAttributes(name: "left behind")) { gate.wait() }
        precondition(!thread.handle.isLostToFork && !ThreadHandle.current.isLostToFork)
        // Not in the middle of the runtime's or the library's own business.
        precondition(eventually { SystemThreadReport.isAsleep(thread.handle) })
        let status = inForkedChild {
          let handle = thread.handle
          guard handle.isLostToFork && !ThreadHandle.current.isLostToFork else { return false }
          let join = refusal { try thread.join() }
          guard isLost(join, "PosixThread.join"), join?.message.contains("left behind") == true,
            isLost(refusal { try thread.join(for: .seconds(20)) }, "PosixThread.join"),
            isLost(refusal { try thread.detach() }, "PosixThread.detach"),
            isLost(refusal { _ = try handle.affinity() }, "ThreadHandle.affinity"),
            isLost(refusal { _ = try handle.scheduling() }, "ThreadHandle.scheduling"),
            isLost(refusal { _ = try handle.stackUsage() }, "ThreadHandle.stackUsage")
          else { return false }
          handle.name = "renamed"
          handle.cancel()
          return handle.name == "renamed" && handle.isCancelled
        }
        requireSuccess(ofChild: status)
        gate.open()
        try thread.join()
        precondition(thread.name == "left behind")
      }
    }
  }

  @Test(
    "a handle that was being used at the moment of the fork can be used in the child",
    childIsNotStopped)
  func handleInUse() async {
    await #expect(processExitsWith: .success) {
      synchronously {
        let stop = Shared.Flag()
        let isUsed = Shared.Flag()
        let gate = Shared.Gate()
        let thread = try PosixThread.start { gate.wait() }
        let user = try PosixThread.start {
          while !stop.isSet {
            thread.name = "short"
            isUsed.set()
          }
        }
        isUsed.wait()
        for _ in 0..<40 {
          let status = inForkedChild { thread.name == "short" && thread.handle.isLostToFork }
          requireSuccess(ofChild: status)
        }
        stop.set()
        gate.open()
        try user.join()
        try thread.join()
      }
    }
  }

  @Test("a thread that had ended before the fork has its answer in the child too")
  func ended() async {
    await #expect(processExitsWith: .success) {
      synchronously {
        let joined = try PosixThread.start { 41 }
        try joined.join()
        let unjoined = try PosixThread.start { 42 }
        precondition(eventually { unjoined.state == .finished })
        let status = inForkedChild {
          (try? joined.join()) == 41 && (try? unjoined.join(for: .zero)) == 42
            && (try? unjoined.join()) == 42
        }
        requireSuccess(ofChild: status)
      }
    }
  }

  @Test("an object that goes away in the child leaves its parent's thread alone")
  func dropped() async {
    await #expect(processExitsWith: .success) {
      synchronously {
        let gate = Shared.Gate()
        var thread: PosixThread<Void, Never>? = PosixThread { gate.wait() }
        try thread?.start()
        let status = inForkedChild {
          thread = nil
          return true
        }
        requireSuccess(ofChild: status)
        gate.open()
        try thread?.join()
      }
    }
  }

  @Test("a scope that is left in the child does not wait for the parent's threads")
  func scope() async {
    await #expect(processExitsWith: .success) {
      synchronously {
        let gate = Shared.Gate()
        let child = try withThreads { scope in
          let thread = try scope.start { gate.wait() }
          precondition(eventually { SystemThreadReport.isAsleep(thread.handle) })
          let child = forkProcess()
          if child != 0 { gate.open() }
          return child
        }
        if child == 0 { _exit(0) }
        let status = statusOfChild(child)
        requireSuccess(ofChild: status)
      }
    }
  }

  @Test(
    "the child starts threads of its own, and lists its own alone",
    // The thread sanitizer does not let a forked child start threads.
    .enabled(if: !ThreadSanitizer.isActive))
  func newThreads() async {
    await #expect(processExitsWith: .success) {
      synchronously {
        let gate = Shared.Gate()
        let started = PosixThread(ThreadAttributes(name: "of the parent")) { gate.wait() }
        let early = PosixThread { 5 }
        try started.start()
        // Not in the middle of the runtime's or the library's own business.
        precondition(eventually { SystemThreadReport.isAsleep(started.handle) })
        let child = forkProcess()
        if child == 0 {
          let inside = Shared.Gate()
          guard
            let thread = try? PosixThread.start(
              ThreadAttributes(name: "of the child"),
              body: {
                inside.wait()
                return 6
              })
          else { _exit(10) }
          // Waits until the thread has arrived.
          _ = thread.handle.kernelID
          let names = try ThreadSnapshot.all().map { $0.name }
          inside.open()
          guard (try? early.start()) != nil, (try? early.join()) == 5 else { _exit(11) }
          guard (try? thread.join()) == 6, !thread.handle.isLostToFork else { _exit(12) }
          guard names.contains("of the child") else { _exit(13) }
          _exit(names.count == 2 ? 0 : 20 + CInt(names.count))
        }
        let status = statusOfChild(child)
        requireSuccess(ofChild: status)
        gate.open()
        try started.join()
      }
    }
  }
}
