public import ThreadingPlatform

/// A strong reference that threads read and replace, and can wait on.
///
/// Reading it gives a reference of one's own: the object cannot be freed between the reading and
/// the retaining, which is the fault of a plain variable. That takes a lock of one word for a few
/// nanoseconds; a replaced object is released after the lock has been given back, so its `deinit`
/// may use the reference again.
///
/// - Note: Safe to use from any thread. What was written before an object was put in happens before
///   the return of the call that reads it.
public final class AtomicReference<Object: AnyObject & Sendable>: @unchecked Sendable {
  private let mutex = FastMutex()
  // SAFETY of @unchecked: guarded by `mutex`.
  private var object: Object?
  private let waitPoint = WaitPoint()

  /// A reference to an object, or to none.
  public init(_ object: Object? = nil) {
    self.object = object
  }

  /// The object at this moment.
  public func load() -> Object? {
    mutex.withLock { object }
  }

  /// Puts another object in its place.
  public func store(_ object: Object?) {
    _ = exchange(object)
  }

  /// Puts another object in its place.
  ///
  /// - Returns: The object that was there.
  @discardableResult
  public func exchange(_ object: Object?) -> Object? {
    let before = mutex.withLock {
      let before = self.object
      self.object = object
      return before
    }
    waitPoint.notify(.max)
    return before
  }

  /// Puts another object in its place if the one that is there is the one that the caller expects.
  ///
  /// - Parameters:
  ///   - expected: The object to replace.
  ///   - desired: What to replace it by.
  /// - Returns: Whether it was replaced, and the object that was there.
  public func compareExchange(
    expected: Object?, desired: Object?
  ) -> (exchanged: Bool, original: Object?) {
    let result = mutex.withLock {
      let original = object
      guard original === expected else { return (exchanged: false, original: original) }
      object = desired
      return (exchanged: true, original: original)
    }
    if result.exchanged { waitPoint.notify(.max) }
    return result
  }

  /// Puts an object in if there is none yet: of threads that race, one wins and all get its object.
  ///
  /// - Returns: The object that is there now.
  @discardableResult
  public func storeIfEmpty(_ object: Object) -> Object {
    compareExchange(expected: nil, desired: object).original ?? object
  }

  /// Sleeps while the object is the one that the caller expects.
  ///
  /// - Returns: The object that ended the wait.
  @available(*, noasync, message: "wait blocks the calling thread")
  @discardableResult
  public func wait(while expected: Object?) -> Object? {
    var seen = load()
    if seen !== expected { return seen }
    _ = waitPoint.wait(until: .distantFuture) {
      seen = load()
      return seen !== expected
    }
    return seen
  }

  /// Sleeps while the object is the one that the caller expects, at most until a moment.
  ///
  /// - Returns: Whether another object has been seen.
  @available(*, noasync, message: "wait blocks the calling thread")
  public func wait(while expected: Object?, until deadline: MonotonicInstant) -> Bool {
    load() !== expected || waitPoint.wait(until: deadline) { load() !== expected }
  }

  /// Sleeps while the object is the one that the caller expects, at most for `duration`.
  ///
  /// - Parameters:
  ///   - expected: The object to wait through.
  ///   - duration: The longest time to wait, on the monotonic clock.
  /// - Returns: Whether another object has been seen.
  @available(*, noasync, message: "wait blocks the calling thread")
  public func wait(while expected: Object?, for duration: Duration) -> Bool {
    wait(while: expected, until: .now.advanced(by: duration))
  }
}
