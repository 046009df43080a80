import Glibc
import Synchronization
import TestSupport
import Testing
import ThreadingLocks
import ThreadingPlatform

@Suite("PosixMutex", .endsInTime)
struct PosixMutexTests {
  @Test(
    "excludes, whatever its kind", .endsInTime,
    arguments: [PosixMutex.Kind.normal, .errorChecking, .recursive, .adaptive])
  func excludes(kind: PosixMutex.Kind) throws {
    let mutex = try PosixMutex(.init(kind: kind))
    let count = Unguarded(0)
    try concurrently(4) { _ in
      for _ in 0..<5_000 { try? mutex.withLock { _ in count.value += 1 } }
    }
    #expect(count.value == 20_000)
  }

  @Test("an error-checking mutex refuses its owner and strangers")
  func errorChecking() throws {
    let mutex = try PosixMutex(.init(kind: .errorChecking))
    #expect(throws: ThreadingError.self) { try mutex.unlock() }
    try mutex.lock()
    #expect { try mutex.lock() } throws: { ($0 as? ThreadingError)?.code == EDEADLK }
    #expect(try mutex.tryLock() == nil)
    try concurrently(1) { _ in
      #expect { try mutex.unlock() } throws: { ($0 as? ThreadingError)?.code == EPERM }
    }
    try mutex.unlock()
  }

  @Test("a refusal names the mutex and its owner")
  func refusalNamesOwner() throws {
    let mutex = try PosixMutex(.init(kind: .errorChecking), label: "device")
    try mutex.lock()
    let owner = "PosixMutex \"device\" is held by thread \(SystemThread.currentID) "
    #expect { try mutex.lock() } throws: { "\($0)".contains(owner) }
    try concurrently(1) { _ in
      #expect { try mutex.unlock() } throws: { "\($0)".contains(owner) }
    }
    try mutex.unlock()
  }

  @Test("the child of a fork gives back what its parent held, as handlers of a fork do")
  func givenBackByChild() throws {
    let mutex = try PosixMutex()
    try mutex.lock()
    let status = inForkedChild { (try? mutex.unlock()) != nil && (try? mutex.tryLock()) != nil }
    try mutex.unlock()
    #expect(status == 0)
  }

  @Test("a shared mutex is waited for though its owner, in another namespace, has the caller's id")
  func namesake() async {
    await #expect(processExitsWith: .success) { try waitForNamesake() }
  }

  @Test("a recursive mutex is free when given back as often as taken")
  func recursive() throws {
    let mutex = try PosixMutex(.init(kind: .recursive))
    try mutex.lock()
    #expect(try mutex.tryLock() == .acquired)
    try mutex.unlock()
    try concurrently(1) { _ in #expect((try? mutex.tryLock()) == .some(nil)) }
    try mutex.unlock()
    try concurrently(1) { _ in
      #expect((try? mutex.tryLock()) == .some(.acquired))
      try? mutex.unlock()
    }
  }

  @Test("a wait ends at its deadline, never before, and a distant one gets the mutex")
  func timed() throws {
    let mutex = try PosixMutex()
    try mutex.lock()
    for microseconds in [-5, 0, 100, 1_000, 4_000] {
      try concurrently(1) { _ in
        let start = MonotonicInstant.now
        #expect((try? mutex.lock(for: .microseconds(microseconds))) == .some(nil))
        #expect(start.duration(to: .now) >= .microseconds(microseconds))
      }
    }
    let joins = try [
      MonotonicInstant.distantFuture, .now.advanced(by: .seconds(1_000_000_000_000)),
    ]
    .map { deadline in
      try waiting {
        #expect((try? mutex.lock(until: deadline)) == .acquired)
        try? mutex.unlock()
      }
    }
    try mutex.unlock()
    for join in joins { join() }
  }

  @Test("a robust mutex tells the next thread that its owner has ended")
  func robust() throws {
    let mutex = try PosixMutex(.init(isRobust: true))
    try concurrently(1) { _ in _ = try? mutex.lock() }
    #expect(try mutex.lock() == .ownerDied)
    try mutex.makeConsistent()
    try mutex.unlock()
    #expect(try mutex.lock() == .acquired)
    #expect(throws: ThreadingError.self) { try mutex.makeConsistent() }
    try mutex.unlock()
  }

  @Test("a robust mutex that is not made consistent can never be taken again")
  func notRecovered() throws {
    let mutex = try PosixMutex(.init(isRobust: true))
    try concurrently(1) { _ in _ = try? mutex.lock() }
    try mutex.withLock { #expect($0 == .ownerDied) }
    #expect { try mutex.lock() } throws: { ($0 as? ThreadingError)?.code == ENOTRECOVERABLE }
  }

  @Test("a thread that waits is told when the owner ends", .endsInTime)
  func robustWhileWaiting() throws {
    let mutex = try PosixMutex(.init(isRobust: true))
    let isHeld = CountdownLatch(1)
    let mayEnd = CountdownLatch(1)
    let owner = try inBackground {
      _ = try? mutex.lock()
      isHeld.countDown()
      mayEnd.wait()
    }
    isHeld.wait()
    let waiter = try waiting {
      #expect((try? mutex.lock()) == .ownerDied)
      try? mutex.makeConsistent()
      try? mutex.unlock()
    }
    mayEnd.countDown()
    owner()
    waiter()
  }

  @Test("priority inheritance and ceilings")
  func priorities() throws {
    let inheriting = try PosixMutex(.init(priorityProtocol: .inherit))
    #expect(try inheriting.withLock { $0 } == .acquired)
    #expect { try inheriting.priorityCeiling() } throws: {
      ($0 as? ThreadingError)?.code == EINVAL
    }
    let protected = try PosixMutex(.init(priorityProtocol: .protect(ceiling: 10)))
    #expect(try protected.priorityCeiling() == 10)
    #expect { try PosixMutex(.init(priorityProtocol: .protect(ceiling: 1_000))) } throws: { error in
      let message = (error as? ThreadingError)?.message ?? ""
      return message.contains("1000") && message.contains("between 1 and 99")
    }
    #expect { try PosixMutex(.init(priorityProtocol: .protect(ceiling: .max))) } throws: {
      ($0 as? ThreadingError)?.message.contains("\(Int.max) is not between 1 and 99") == true
    }
    for ceiling in [0, 100, Int.max] {
      #expect { try protected.setPriorityCeiling(ceiling) } throws: {
        ($0 as? ThreadingError)?.message.contains("\(ceiling) is not between 1 and 99") == true
      }
    }
    #expect { try inheriting.setPriorityCeiling(10) } throws: {
      ($0 as? ThreadingError)?.code == EINVAL
    }
    // Whether this process may run with such a priority depends on its rights; both are answers.
    do {
      try protected.lock()
      try protected.unlock()
      #expect(try protected.setPriorityCeiling(20) == 10)
      #expect(try protected.priorityCeiling() == 20)
    } catch {
      #expect(error.code == EPERM || error.code == EINVAL)
    }
  }

  @Test("a mutex in shared memory is one, however many objects look at it", .endsInTime)
  func shared() throws {
    let memory = SharedMemory(
      byteCount: PosixMutex.memorySize, alignment: PosixMutex.memoryAlignment)
    let first = try unsafe PosixMutex(sharedAt: memory.address)
    let second = unsafe PosixMutex(attachedTo: memory.address)
    try first.lock()
    try concurrently(1) { _ in #expect((try? second.tryLock()) == .some(nil)) }
    try first.unlock()
    #expect(try second.tryLock() == .acquired)
    try second.unlock()
  }

  @Test("an error of the body comes out and gives the mutex back")
  func throwing() throws {
    struct Refusal: Error {}
    let mutex = try PosixMutex()
    #expect(throws: Refusal.self) { try mutex.withLock { _ in throw Refusal() } }
    #expect(try mutex.tryLock() == .acquired)
    try mutex.unlock()
  }
}

private func waitForNamesake() throws {
  let memory = SharedMemory(
    byteCount: PosixMutex.memorySize, alignment: PosixMutex.memoryAlignment)
  let mutex = try unsafe PosixMutex(sharedAt: memory.address)
  try mutex.lock()
  let join = try waiting {
    // As the thread of another process leaves it that has this one's id in a namespace of its own.
    unsafe memory.address.assumingMemoryBound(to: pthread_mutex_t.self).pointee.__data.__owner =
      CInt(SystemThread.currentID)
    guard (try? mutex.lock()) == .acquired, (try? mutex.unlock()) != nil else { _exit(1) }
  }
  // The C library's own, which does not look at the owner.
  _ = unsafe pthread_mutex_unlock(memory.address.assumingMemoryBound(to: pthread_mutex_t.self))
  join()
}
