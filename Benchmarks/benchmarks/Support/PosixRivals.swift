import BenchmarkSupport
import Glibc

/// A `pthread_cond_t` in memory of its own.
// SAFETY of @safe and @unchecked: as for PthreadMutex.
@safe
final class PthreadCondition: @unchecked Sendable {
  private let condition: UnsafeMutablePointer<pthread_cond_t>

  init() {
    unsafe condition = .allocate(capacity: 1)
    let code = unsafe pthread_cond_init(condition, nil)
    precondition(code == 0, "pthread_cond_init: errno \(code)")
  }

  deinit {
    _ = unsafe pthread_cond_destroy(condition)
    unsafe condition.deallocate()
  }

  @inline(__always)
  func wait(_ mutex: PthreadMutex) { _ = unsafe pthread_cond_wait(condition, mutex.mutex) }

  @inline(__always)
  func signal() { _ = unsafe pthread_cond_signal(condition) }
}

/// A `pthread_rwlock_t` in memory of its own.
// SAFETY of @safe and @unchecked: as for PthreadMutex.
@safe
final class PthreadReadWriteLock: @unchecked Sendable {
  private let lock: UnsafeMutablePointer<pthread_rwlock_t>

  init() {
    unsafe lock = .allocate(capacity: 1)
    let code = unsafe pthread_rwlock_init(lock, nil)
    precondition(code == 0, "pthread_rwlock_init: errno \(code)")
  }

  deinit {
    _ = unsafe pthread_rwlock_destroy(lock)
    unsafe lock.deallocate()
  }

  @inline(__always)
  func readLock() { _ = unsafe pthread_rwlock_rdlock(lock) }

  @inline(__always)
  func writeLock() { _ = unsafe pthread_rwlock_wrlock(lock) }

  @inline(__always)
  func unlock() { _ = unsafe pthread_rwlock_unlock(lock) }
}

/// A `sem_t` in memory of its own.
// SAFETY of @safe and @unchecked: as for PthreadMutex.
@safe
final class PosixSemaphoreSignal: @unchecked Sendable {
  private let semaphore: UnsafeMutablePointer<sem_t>

  init(value: UInt32) {
    unsafe semaphore = .allocate(capacity: 1)
    let code = unsafe sem_init(semaphore, 0, value)
    precondition(code == 0, "sem_init: errno \(errno)")
  }

  deinit {
    _ = unsafe sem_destroy(semaphore)
    unsafe semaphore.deallocate()
  }

  @inline(__always)
  func wait() {
    while unsafe sem_wait(semaphore) != 0 {}
  }

  @inline(__always)
  func signal() { _ = unsafe sem_post(semaphore) }
}

/// A pipe: a byte in it is a signal.
final class PipeSignal: Sendable {
  private let reader: CInt
  private let writer: CInt

  init() throws(WrongResult) {
    var ends: [CInt] = [-1, -1]
    guard unsafe pipe(&ends) == 0 else { throw WrongResult("pipe: errno \(errno)") }
    (reader, writer) = (ends[0], ends[1])
  }

  deinit {
    close(reader)
    close(writer)
  }

  func wait() {
    var byte: UInt8 = 0
    while unsafe read(reader, &byte, 1) != 1 {}
  }

  func signal() {
    var byte: UInt8 = 1
    while unsafe write(writer, &byte, 1) != 1 {}
  }
}
