internal import Synchronization
internal import ThreadingLocks

/// What a thread's dictionary holds.
///
/// Only the thread itself changes the tables, and does so with the lock held; so it reads them without
/// the lock, and others read them with it. What others store is set aside, with the lock held; the
/// thread moves it into the tables the next time it uses them.
@usableFromInline
final class ThreadValues: @unchecked Sendable {
  // SAFETY of @unchecked: as above. Boxes with values that are not Sendable are only handed to the
  // thread itself; see ThreadDictionary.

  private let lock = FastMutex()

  /// Written with `lock` held, by the owner alone; read by the owner, or with `lock` held.
  private var typed = IdentifierTable()
  private var named: [String: any Sendable] = [:]

  /// Guarded by `lock`. What others have stored: a value, or nil to remove it.
  private var incoming = Incoming()
  private var access = Access.open

  /// Whether `incoming` holds something. Set by others with `lock` held; looked at by the owner
  /// without, so that it takes the lock only when there is something to move.
  private let hasIncoming = Atomic<Bool>(false)

  private struct Incoming {
    var typed: [ObjectIdentifier: AnyObject?] = [:]
    var named: [String: (any Sendable)?] = [:]
    var isEmpty: Bool { typed.isEmpty && named.isEmpty }
  }

  private enum Access {
    /// Any thread may store.
    case open
    /// The thread is ending or has ended: only it itself may store.
    case retired
    /// Nothing is stored any more. What the thread itself still tries to store is kept alive for ever:
    /// released, it would try again, without end.
    case closed
  }

  // MARK: For the owner

  /// The object under a key, owned by the table. Costs a lookup.
  @usableFromInline
  func ownValue(of key: ObjectIdentifier) -> Unmanaged<AnyObject>? {
    takeIn()
    return unsafe typed.find(key)
  }

  func ownValue(named key: String) -> (any Sendable)? {
    takeIn()
    return named[key]
  }

  @usableFromInline
  func setOwn(_ value: AnyObject?, for key: ObjectIdentifier) {
    takeIn()
    guard mayStore(value) else { return }
    // Released after the lock is free again: a deinit may use the dictionary.
    _ = lock.withLock { typed.set(value, for: key) }
  }

  func setOwn(_ value: (any Sendable)?, named key: String) {
    takeIn()
    guard mayStore(value) else { return }
    // Released after the lock is free again, as above.
    _ = lock.withLock { named.replace(value, for: key) }
  }

  /// Only the owner closes the storage, so it reads `access` without the lock.
  private func mayStore<Value>(_ value: Value?) -> Bool {
    guard access == .closed else { return true }
    if let value { _ = unsafe Unmanaged.passRetained(ThreadValueBox(value)) }
    return false
  }

  /// Moves what others have stored into the tables.
  private func takeIn() {
    // acquiring: pairs with the release in `add`, so that what the storing thread wrote before is
    // visible with the value.
    guard hasIncoming.load(ordering: .acquiring) else { return }
    takeInSlowly()
  }

  @inline(never)
  private func takeInSlowly() {
    // Released at the end, with the lock free again: a deinit may use the dictionary.
    var replaced: [Any?] = []
    lock.withLock {
      // relaxed: written by others with the lock held.
      hasIncoming.store(false, ordering: .relaxed)
      for (key, value) in incoming.typed { replaced.append(typed.set(value, for: key)) }
      for (key, value) in incoming.named { replaced.append(named.replace(value, for: key)) }
      incoming = Incoming()
    }
    replaced.removeAll()
  }

  /// Takes everything out and releases it.
  ///
  /// - Returns: whether there was anything.
  func clear() -> Bool {
    var typed = IdentifierTable()
    var named: [String: any Sendable] = [:]
    var incoming = Incoming()
    lock.withLock {
      swap(&typed, &self.typed)
      swap(&named, &self.named)
      swap(&incoming, &self.incoming)
      hasIncoming.store(false, ordering: .relaxed)
    }
    return !typed.isEmpty || !named.isEmpty || !incoming.isEmpty
  }

  var isEmpty: Bool { lock.withLock { typed.isEmpty && named.isEmpty && incoming.isEmpty } }

  /// From now on only the owner may store.
  func retire() {
    lock.withLock { if access == .open { access = .retired } }
  }

  /// From now on nothing is stored.
  func close() {
    lock.withLock { access = .closed }
  }

  // MARK: Forks of the owner, see ForkGuard

  func beforeFork() {
    lock.lock()
    lock.freeInForkedChild()
  }

  func afterForkInParent() { lock.unlock() }

  // MARK: For other threads

  @usableFromInline
  func value(of key: ObjectIdentifier) -> AnyObject? {
    lock.withLock {
      if let value = incoming.typed[key] { return value }
      return unsafe typed.find(key)?.takeUnretainedValue()
    }
  }

  func value(named key: String) -> (any Sendable)? {
    lock.withLock {
      if let value = incoming.named[key] { return value }
      return named[key]
    }
  }

  @usableFromInline
  func set(_ value: AnyObject?, for key: ObjectIdentifier) {
    // Released after the lock is free again: the value that was set aside before.
    _ = add { $0.typed.updateValue(value, forKey: key) }
  }

  func set(_ value: (any Sendable)?, named key: String) {
    _ = add { $0.named.updateValue(value, forKey: key) }
  }

  private func add<Old>(_ change: (inout Incoming) -> Old?) -> Old? {
    lock.withLock {
      guard access == .open else { return nil }
      // releasing: pairs with the acquire in `takeIn`.
      defer { hasIncoming.store(true, ordering: .releasing) }
      return change(&incoming)
    }
  }
}

extension Dictionary {
  /// Puts a value under a key, or takes the key out.
  ///
  /// - Returns: the value that was there.
  fileprivate mutating func replace(_ value: Value?, for key: Key) -> Value? {
    guard let value else { return removeValue(forKey: key) }
    return updateValue(value, forKey: key)
  }
}

/// One typed value on the heap.
@usableFromInline
final class ThreadValueBox<Value>: @unchecked Sendable {
  // SAFETY of @unchecked: immutable. Values that are not Sendable are only reached by the thread
  // that stored them; see ThreadDictionary.
  @usableFromInline let value: Value

  @inlinable
  init(_ value: Value) {
    self.value = value
  }
}
