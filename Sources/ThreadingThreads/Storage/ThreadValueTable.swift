/// What a thread's dictionary holds. A plain value: the owner's lock guards it.
struct ThreadValueTable {
  private var typed: [ObjectIdentifier: AnyObject] = [:]
  private var named: [String: any Sendable] = [:]
  private var access = Access.open

  private enum Access {
    /// Any thread may store.
    case open
    /// The thread is ending or has ended: only it itself may store.
    case retired
    /// Nothing is stored any more. What the thread itself still tries to store is kept alive for
    /// ever: released, it would try again, without end.
    case closed
  }

  /// Whether nothing is stored.
  var isEmpty: Bool { typed.isEmpty && named.isEmpty }

  func value(of key: ObjectIdentifier) -> AnyObject? { typed[key] }

  func value(named key: String) -> (any Sendable)? { named[key] }

  /// - Returns: what must be released once the lock is free: the value that was replaced, or the new
  ///   one where it is not taken in.
  mutating func set(_ value: AnyObject?, for key: ObjectIdentifier, byOwner: Bool) -> AnyObject? {
    guard mayStore(byOwner) else { return refuse(value, byOwner: byOwner) }
    let old = typed[key]
    typed[key] = value
    return old
  }

  mutating func set(
    _ value: (any Sendable)?, named key: String, byOwner: Bool
  ) -> (any Sendable)? {
    guard mayStore(byOwner) else { return refuse(value, byOwner: byOwner) }
    let old = named[key]
    named[key] = value
    return old
  }

  private func mayStore(_ byOwner: Bool) -> Bool {
    switch access {
    case .open: true
    case .retired: byOwner
    case .closed: false
    }
  }

  private func refuse<Value>(_ value: Value?, byOwner: Bool) -> Value? {
    guard byOwner, let value else { return value }
    _ = unsafe Unmanaged.passRetained(ThreadValueBox(value))
    return nil
  }

  mutating func retire() {
    if access == .open { access = .retired }
  }

  mutating func close() { access = .closed }

  /// Takes everything out, for the caller to release.
  mutating func takeAll() -> ThreadValueTable {
    var taken = ThreadValueTable()
    swap(&taken.typed, &typed)
    swap(&taken.named, &named)
    return taken
  }
}

/// One typed value on the heap.
final class ThreadValueBox<Value>: @unchecked Sendable {
  // SAFETY of @unchecked: immutable. Values that are not Sendable are only reached by the thread
  // that stored them; see ThreadDictionary.
  let value: Value

  init(_ value: Value) {
    self.value = value
  }
}
