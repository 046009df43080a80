import Glibc
import TestSupport
import Testing
import ThreadingLocks
import ThreadingPlatform

@Suite("PosixSemaphore", .endsInTime)
struct PosixSemaphoreTests {
  @Test("counts permits")
  func sequential() throws {
    let semaphore = try PosixSemaphore(1)
    #expect(semaphore.value == 1)
    semaphore.wait()
    #expect(!semaphore.tryWait())
    try semaphore.post()
    #expect(semaphore.tryWait())
  }

  @Test("a post wakes a thread that waits", .endsInTime)
  func wakes() throws {
    let semaphore = try PosixSemaphore(0)
    let joins = [
      try waiting { semaphore.wait() },
      try waiting { #expect(semaphore.wait(for: .seconds(1_000_000_000_000))) },
    ]
    try semaphore.post()
    try semaphore.post()
    for join in joins { join() }
    #expect(semaphore.value == 0)
  }

  @Test("a wait ends at its deadline, never before")
  func timed() throws {
    let semaphore = try PosixSemaphore(0)
    for microseconds in [-5, 0, 100, 1_000, 4_000] {
      let start = MonotonicInstant.now
      #expect(!semaphore.wait(for: .microseconds(microseconds)))
      #expect(start.duration(to: .now) >= .microseconds(microseconds))
    }
  }

  @Test("signals do not end a wait", .endsInTime)
  func signalled() throws {
    let semaphore = try PosixSemaphore(0)
    let senders = Locked<[@Sendable () -> Void]>([])
    let posted = AtomicFlag()
    let join = try waiting {
      let send = HarmlessSignal.accept()
      senders.withLock { $0.append(send) }
      semaphore.wait()
      #expect(posted.isSet)
    }
    let before = HarmlessSignal.count
    senders.withLock(when: { !$0.isEmpty }) { $0[0]() }
    #expect(eventually { HarmlessSignal.count > before })
    posted.testAndSet()
    try semaphore.post()
    join()
  }

  @Test("a value out of range is refused, and so is one post too many")
  func range() throws {
    #expect { try PosixSemaphore(-1) } throws: {
      ($0 as? ThreadingError)?.message == "the value -1 is not between 0 and 2147483647"
    }
    let full = try PosixSemaphore(PosixSemaphore.maximumValue)
    #expect { try full.post() } throws: { ($0 as? ThreadingError)?.code == EOVERFLOW }
  }

  @Test("a named semaphore is found by its name until that is taken away")
  func named() throws {
    let name = "/swift-threading-test-\(getpid())"
    try PosixSemaphore.unlink(name)
    #expect { try PosixSemaphore(named: name, .existing) } throws: {
      ($0 as? ThreadingError)?.code == ENOENT
    }
    do {
      let first = try PosixSemaphore(named: name, .new(value: 2))
      defer { _ = try? PosixSemaphore.unlink(name) }
      #expect { try PosixSemaphore(named: name, .new(value: 2)) } throws: {
        ($0 as? ThreadingError)?.code == EEXIST
      }
      let second = try PosixSemaphore(named: name, .existing)
      let third = try PosixSemaphore(named: name, .existingOrNew(value: 9))
      second.wait()
      #expect(first.value == 1 && third.value == 1)
    }
    #expect(try PosixSemaphore.unlink(name) == false)
    for bad in ["", "/", "/a/b"] {
      #expect { try PosixSemaphore(named: bad, .new(value: 0)) } throws: {
        ($0 as? ThreadingError)?.code == EINVAL
      }
    }
    let long = "/" + String(repeating: "x", count: 300)
    #expect { try PosixSemaphore(named: long, .new(value: 0)) } throws: {
      // Which of the two depends on the version of the C library.
      [EINVAL, ENAMETOOLONG].contains(($0 as? ThreadingError)?.code)
    }
    #expect { try PosixSemaphore(named: name, .new(value: -1)) } throws: {
      ($0 as? ThreadingError)?.message == "the value -1 is not between 0 and 2147483647"
    }
  }

  @Test("a semaphore in shared memory is one, however many objects look at it")
  func shared() throws {
    let memory = SharedMemory(
      byteCount: PosixSemaphore.memorySize, alignment: PosixSemaphore.memoryAlignment)
    let first = try unsafe PosixSemaphore(sharedAt: memory.address, 1)
    let second = unsafe PosixSemaphore(attachedTo: memory.address)
    first.wait()
    #expect(!second.tryWait())
    try second.post()
    #expect(first.value == 1)
  }
}
