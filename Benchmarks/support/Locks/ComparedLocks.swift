import Foundation
import Synchronization
import Threading

// Locks in classes of their own, the form in which all are compared. The programs that compare them see
// the code of each, and have a protocol of their own for them: with one of this module's, they would
// call the locks through its table, which costs a third of what is measured.

package final class FastLock: Sendable {
  @usableFromInline let lock = FastMutex()

  @inlinable
  package init() {}

  @inlinable @inline(__always)
  package func withLock(_ body: () -> Void) { lock.withLock(body) }
}

package final class FoundationLock: Sendable {
  @usableFromInline let lock = NSLock()

  @inlinable
  package init() {}

  @inlinable @inline(__always)
  package func withLock(_ body: () -> Void) {
    lock.lock()
    body()
    lock.unlock()
  }
}

package final class SynchronizationLock: Sendable {
  @usableFromInline let lock = Mutex<Void>(())

  @inlinable
  package init() {}

  @inlinable @inline(__always)
  package func withLock(_ body: () -> Void) { lock.withLock { _ in body() } }
}

package final class PthreadLock: Sendable {
  @usableFromInline let lock = PthreadMutex()

  @inlinable
  package init() {}

  @inlinable @inline(__always)
  package func withLock(_ body: () -> Void) {
    lock.lock()
    body()
    lock.unlock()
  }
}
