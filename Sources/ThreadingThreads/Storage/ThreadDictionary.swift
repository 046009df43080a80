internal import ThreadingPlatform

/// Values that belong to a thread: one dictionary for every thread of the process, whoever started
/// it.
///
/// The thread itself reaches its dictionary by ``current``, any other thread by
/// ``ThreadHandle/dictionary``. Keys are types (``ThreadDictionaryKey``) or strings.
///
/// ```swift
/// enum Connection: ThreadDictionaryKey { typealias Value = DatabaseConnection }
///
/// ThreadDictionary.current[Connection.self] = try DatabaseConnection(path)
/// ThreadDictionary.current["progress"] = 0.5
/// let progress = worker.handle.dictionary["progress"] as? Double
/// ```
///
/// All values are released on the thread when it ends: after its exit hooks have run, and before a
/// join of the thread returns. A `deinit` that runs then may use the dictionary; what it stores is
/// released too, in a bounded number of rounds. Afterwards the dictionary is empty: a value stored
/// from outside is released at once. The values of the main thread are not released, because the process
/// ends with it.
///
/// - Note: Safe to use from any thread. What was written before a value is stored happens before
///   another thread reads it. Costs an uncontended lock and a lookup.
public struct ThreadDictionary: Sendable {
  let owner: ThreadHandle

  /// The calling thread's dictionary.
  public static var current: ThreadDictionary { ThreadDictionary(owner: .current) }

  /// The value under a typed key, or nil if there is none. Setting nil removes the value.
  ///
  /// The value that was there before is released by the thread that replaces it.
  public subscript<Key: ThreadDictionaryKey>(key: Key.Type) -> Key.Value?
  where Key.Value: Sendable {
    get { read(key) }
    nonmutating set { store(newValue, key) }
  }

  /// The value under a typed key, for the thread itself: the value need not be `Sendable`.
  ///
  /// This is the same value that ``subscript(_:)-(Key.Type)`` reaches, where both can be used.
  ///
  /// - Precondition: the dictionary is the calling thread's own. If it is not, the program stops.
  public subscript<Key: ThreadDictionaryKey>(local key: Key.Type) -> Key.Value? {
    get {
      checkOwner()
      return read(key)
    }
    nonmutating set {
      checkOwner()
      store(newValue, key)
    }
  }

  /// The value under a string key, or nil if there is none. Setting nil removes the value.
  ///
  /// String keys and typed keys never meet.
  public subscript(key: String) -> (any Sendable)? {
    get { owner.withValues { $0.value(named: key) } }
    nonmutating set {
      let isOwner = owner.isCurrent
      // Released here, with the lock free again: its deinit may use the dictionary.
      _ = owner.withValues { $0.set(newValue, named: key, byOwner: isOwner) }
    }
  }

  /// Removes every value, and releases it on the calling thread.
  ///
  /// - Precondition: the dictionary is the calling thread's own. If it is not, the program stops.
  public func removeAll() {
    checkOwner()
    _ = owner.withValues { $0.takeAll() }
  }

  private func read<Key: ThreadDictionaryKey>(_ key: Key.Type) -> Key.Value? {
    guard let box = owner.withValues({ $0.value(of: ObjectIdentifier(key)) }) else { return nil }
    // SAFETY: only `store` puts a box under the key, of this very type.
    return unsafe unsafeDowncast(box, to: ThreadValueBox<Key.Value>.self).value
  }

  private func store<Key: ThreadDictionaryKey>(_ value: Key.Value?, _ key: Key.Type) {
    let box = value.map { ThreadValueBox($0) }
    let isOwner = owner.isCurrent
    // Released here, with the lock free again: its deinit may use the dictionary.
    _ = owner.withValues { $0.set(box, for: ObjectIdentifier(key), byOwner: isOwner) }
  }

  private func checkOwner() {
    precondition(
      owner.isCurrent, "ThreadDictionary: a local value of \(owner) was asked for by another thread"
    )
  }
}

extension ThreadHandle {
  /// The thread's dictionary.
  public var dictionary: ThreadDictionary { ThreadDictionary(owner: self) }
}
