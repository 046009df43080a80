public import Synchronization
public import ThreadingPlatform

/// An atomic value as an object, so that several places can share it, and with waiting: threads can
/// sleep until it changes.
///
/// The value itself is ``atomic``, with all operations that `Synchronization.Atomic` has for its
/// type, each with its ordering spelled out:
///
/// ```swift
/// let hits = AtomicBox(0)
/// hits.atomic.wrappingAdd(1, ordering: .relaxed)  // a figure that orders nothing
///
/// let isReady = AtomicBox(false)
/// isReady.atomic.store(true, ordering: .releasing)  // what was written before ...
/// isReady.notifyAll()
/// isReady.wait(while: false)  // ... is seen after this, which acquires
///
/// let owner = AtomicBox<UInt32>(0)  // a lock: taking acquires, giving back releases
/// owner.atomic.compareExchange(expected: 0, desired: 7, ordering: .acquiring)
/// owner.atomic.store(0, ordering: .releasing)
///
/// let baton = AtomicBox(0)  // sees what former holders wrote, and hands it on
/// baton.atomic.exchange(7, ordering: .acquiringAndReleasing)
///
/// // Each of two threads sets its flag and looks at the other's: only sequential consistency makes
/// // sure that not both find the other unset.
/// mine.atomic.store(true, ordering: .sequentiallyConsistent)
/// let both = theirs.atomic.load(ordering: .sequentiallyConsistent)
/// ```
///
/// A barrier without a value, for code that is translated from another language, is the standard
/// library's `atomicMemoryFence(ordering:)`; the operations above are easier to get right.
///
/// A change wakes nobody by itself: whoever makes one that others may wait for calls
/// ``notifyOne()`` or ``notifyAll()`` after it.
///
/// - Note: Safe to use from any thread. What was written before a change with `releasing` or
///   stronger ordering happens before the return of a wait that sees the change.
public final class AtomicBox<Value: AtomicRepresentable & Equatable & Sendable>: Sendable {
  /// The value, for any operation with any ordering.
  public let atomic: Atomic<Value>
  @usableFromInline let waitPoint = WaitPoint()
  private let operations: AtomicOperations<Value>

  fileprivate init(_ value: Value, _ operations: AtomicOperations<Value>) {
    atomic = Atomic(value)
    self.operations = operations
  }

  /// Changes the value to what `transform` makes of it: for types without the operation that is
  /// needed, such as adding to a floating-point number.
  ///
  /// Waiters are not notified. The ordering is acquiring and releasing.
  ///
  /// - Parameter transform: Called again whenever another thread was quicker, so it must do nothing
  ///   but compute.
  /// - Returns: The value before and after.
  @discardableResult
  public func update(_ transform: (Value) -> Value) -> (oldValue: Value, newValue: Value) {
    var seen = operations.load(atomic)
    while true {
      let next = transform(seen)
      let (done, original) = operations.compareExchange(atomic, seen, next)
      if done { return (seen, next) }
      seen = original
    }
  }

  /// Sleeps while the value is equal to `expected`.
  ///
  /// A value that changes and changes back in between may go unseen. A value that is not equal to
  /// itself is not waited for.
  ///
  /// - Returns: The value that ended the wait, read with acquiring ordering.
  @available(*, noasync, message: "wait blocks the calling thread")
  @discardableResult
  public func wait(while expected: Value) -> Value {
    var seen = operations.load(atomic)
    guard seen == expected else { return seen }
    _ = waitPoint.wait(until: .distantFuture) {
      seen = operations.load(atomic)
      return seen != expected
    }
    return seen
  }

  /// Sleeps while the value is equal to `expected`, at most until a moment.
  ///
  /// - Returns: The value that ended the wait, read with acquiring ordering; nil when the moment
  ///   came first.
  @available(*, noasync, message: "wait blocks the calling thread")
  public func wait(while expected: Value, until deadline: MonotonicInstant) -> Value? {
    var seen = operations.load(atomic)
    guard seen == expected else { return seen }
    let changed = waitPoint.wait(until: deadline) {
      seen = operations.load(atomic)
      return seen != expected
    }
    return changed ? seen : nil
  }

  /// Sleeps while the value is equal to `expected`, at most for `duration`.
  ///
  /// - Parameters:
  ///   - expected: The value to wait through.
  ///   - duration: The longest time to wait, on the monotonic clock.
  /// - Returns: The value that ended the wait, read with acquiring ordering; nil when the time was
  ///   up first.
  @available(*, noasync, message: "wait blocks the calling thread")
  public func wait(while expected: Value, for duration: Duration) -> Value? {
    wait(while: expected, until: .now.advanced(by: duration))
  }

  /// Wakes one thread that waits, if any. Where threads wait for different values, use
  /// ``notifyAll()``: the one that is woken might not be concerned.
  @inlinable
  public func notifyOne() { waitPoint.notify(1) }

  /// Wakes all threads that wait, if any. Costs one atomic step when nobody does.
  @inlinable
  public func notifyAll() { waitPoint.notify(.max) }
}

extension AtomicBox where Value: FloatingPoint {
  /// Adds to a floating-point number, which processors cannot do in one step. Waiters are not notified.
  /// The ordering is acquiring and releasing.
  ///
  /// - Returns: The number before and after.
  @discardableResult
  public func add(_ amount: Value) -> (oldValue: Value, newValue: Value) {
    update { $0 + amount }
  }
}

/// What the box itself needs of the value. The standard library has these operations once for each
/// width, and not for values in general.
private struct AtomicOperations<Value: AtomicRepresentable>: Sendable {
  /// Acquiring.
  let load: @Sendable (borrowing Atomic<Value>) -> Value
  /// Acquiring and releasing.
  let compareExchange:
    @Sendable (borrowing Atomic<Value>, Value, Value) -> (exchanged: Bool, original: Value)
}

extension AtomicBox where Value.AtomicRepresentation == UInt8.AtomicRepresentation {
  /// A box with a value of 8 bits.
  public convenience init(_ value: Value) {
    self.init(
      value,
      AtomicOperations(
        load: { $0.load(ordering: .acquiring) },
        compareExchange: {
          $0.weakCompareExchange(expected: $1, desired: $2, ordering: .acquiringAndReleasing)
        }))
  }
}

extension AtomicBox where Value.AtomicRepresentation == UInt16.AtomicRepresentation {
  /// A box with a value of 16 bits.
  public convenience init(_ value: Value) {
    self.init(
      value,
      AtomicOperations(
        load: { $0.load(ordering: .acquiring) },
        compareExchange: {
          $0.weakCompareExchange(expected: $1, desired: $2, ordering: .acquiringAndReleasing)
        }))
  }
}

extension AtomicBox where Value.AtomicRepresentation == UInt32.AtomicRepresentation {
  /// A box with a value of 32 bits.
  public convenience init(_ value: Value) {
    self.init(
      value,
      AtomicOperations(
        load: { $0.load(ordering: .acquiring) },
        compareExchange: {
          $0.weakCompareExchange(expected: $1, desired: $2, ordering: .acquiringAndReleasing)
        }))
  }
}

extension AtomicBox where Value.AtomicRepresentation == UInt64.AtomicRepresentation {
  /// A box with a value of 64 bits.
  public convenience init(_ value: Value) {
    self.init(
      value,
      AtomicOperations(
        load: { $0.load(ordering: .acquiring) },
        compareExchange: {
          $0.weakCompareExchange(expected: $1, desired: $2, ordering: .acquiringAndReleasing)
        }))
  }
}

extension AtomicBox where Value.AtomicRepresentation == WordPair.AtomicRepresentation {
  /// A box with a value of 128 bits.
  public convenience init(_ value: Value) {
    self.init(
      value,
      AtomicOperations(
        load: { $0.load(ordering: .acquiring) },
        compareExchange: {
          $0.weakCompareExchange(expected: $1, desired: $2, ordering: .acquiringAndReleasing)
        }))
  }
}
