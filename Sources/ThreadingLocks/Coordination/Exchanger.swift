public import ThreadingPlatform

/// A place where two threads meet and swap values: an emptied buffer for a filled one, say.
///
/// The first to come waits for the second. With more threads, each is paired with one other.
///
/// - Note: Safe to use from any thread. What each of the two did before it came happens before the
///   other goes on.
public final class Exchanger<Value: Sendable>: Sendable {
  /// What the first of two threads brings, and where the second leaves its own.
  private final class Offer: Sendable {
    let value: Value
    /// Filled in by the thread that takes the offer, before it says so.
    let reply = Locked<Value?>(nil)

    init(_ value: Value) {
      self.value = value
    }
  }

  /// The offer that waits to be taken, if any.
  private let pending = Locked<Waiter<Offer>?>(nil)

  private let label: String?

  /// A place where nobody waits.
  ///
  /// - Parameter label: What messages about misuse call the place.
  public init(label: String? = nil) {
    self.label = label
  }

  deinit {
    if let first = pending.withLock({ $0?.thread }) {
      Misuse.stopDestroying(Misuse.name("Exchanger", label), awaitedBy: first)
    }
  }

  /// Gives a value to another thread and takes the other's, sleeping until one comes.
  ///
  /// - Returns: What the other thread brought.
  @available(*, noasync, message: "exchange blocks the calling thread")
  public func exchange(_ value: Value) -> Value {
    guard let other = exchange(value, until: .distantFuture) else {
      fatalError("Exchanger: a wait without a limit came to an end")
    }
    return other
  }

  /// Gives a value to another thread and takes the other's, unless a moment comes first.
  ///
  /// - Returns: What the other thread brought, or nil if none came; nobody has the value then.
  @available(*, noasync, message: "exchange blocks the calling thread")
  public func exchange(_ value: Value, until deadline: MonotonicInstant) -> Value? {
    let mine = Waiter(Offer(value))
    let other: Waiter<Offer>? = pending.withLock { pending in
      let other = pending
      pending = other == nil ? mine : nil
      return other
    }
    if let other {
      other.wanted.reply.withLock { $0 = value }
      other.grant()
      return other.wanted.value
    }
    if !mine.sleep(until: deadline) {
      let isWithdrawn = pending.withLock { pending in
        guard pending === mine else { return false }
        pending = nil
        return true
      }
      if isWithdrawn { return nil }
      // Taken: the other is about to say so.
      _ = mine.sleep(until: .distantFuture)
    }
    return mine.wanted.reply.withLock { $0 }
  }

  /// Gives a value to another thread and takes the other's, unless `duration` passes first.
  ///
  /// - Parameters:
  ///   - value: What to give.
  ///   - duration: The longest time to wait, on the monotonic clock. Zero or less gives it only to
  ///     a thread that waits already.
  /// - Returns: What the other thread brought, or nil if none came; nobody has the value then.
  @available(*, noasync, message: "exchange blocks the calling thread")
  public func exchange(_ value: Value, for duration: Duration) -> Value? {
    exchange(value, until: .now.advanced(by: duration))
  }
}
