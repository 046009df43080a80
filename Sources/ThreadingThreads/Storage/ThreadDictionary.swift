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
/// ends with it. In a child made by `fork`, the dictionaries of the threads that are not there are empty.
///
/// - Note: Safe to use from any thread. What was written before a value is stored happens before
///   another thread reads it. Inside its thread, reading costs a lookup; storing, and all access from
///   outside, an uncontended lock more.
public struct ThreadDictionary: Sendable {
  @usableFromInline let owner: ThreadHandle

  @inlinable
  init(owner: ThreadHandle) {
    self.owner = owner
  }

  /// The calling thread's dictionary.
  @inlinable
  public static var current: ThreadDictionary { ThreadDictionary(owner: .current) }

  /// The value under a typed key, or nil if there is none. Setting nil removes the value.
  ///
  /// The value that was there before is released by the thread that replaces it, or by the
  /// dictionary's own thread when another one replaces it.
  @inlinable
  public subscript<Key: ThreadDictionaryKey>(key: Key.Type) -> Key.Value?
  where Key.Value: Sendable {
    get {
      if owner.isCurrent { return own(key) }
      if owner.isLostToFork { return nil }
      guard let box = owner.values.value(of: ObjectIdentifier(key)) else { return nil }
      // SAFETY: what is stored under the key is a box of this very type.
      return unsafe unsafeDowncast(box, to: ThreadValueBox<Key.Value>.self).value
    }
    nonmutating set {
      if owner.isCurrent { return setOwn(newValue, key) }
      if owner.isLostToFork { return }
      owner.values.set(newValue.map { ThreadValueBox($0) }, for: ObjectIdentifier(key))
    }
  }

  /// The value under a typed key, for the thread itself: the value need not be `Sendable`.
  ///
  /// This is the same value that ``subscript(_:)-(Key.Type)`` reaches, where both can be used.
  ///
  /// - Precondition: the dictionary is the calling thread's own. If it is not, the program stops.
  @inlinable
  public subscript<Key: ThreadDictionaryKey>(local key: Key.Type) -> Key.Value? {
    get {
      checkOwner()
      return own(key)
    }
    nonmutating set {
      checkOwner()
      setOwn(newValue, key)
    }
  }

  /// The value under a string key, or nil if there is none. Setting nil removes the value.
  ///
  /// String keys and typed keys never meet.
  public subscript(key: String) -> (any Sendable)? {
    get {
      if owner.isCurrent { return owner.values.ownValue(named: key) }
      return owner.isLostToFork ? nil : owner.values.value(named: key)
    }
    nonmutating set {
      if owner.isCurrent {
        owner.values.setOwn(newValue, named: key)
      } else if !owner.isLostToFork {
        owner.values.set(newValue, named: key)
      }
    }
  }

  /// Removes every value, and releases it on the calling thread.
  ///
  /// - Precondition: the dictionary is the calling thread's own. If it is not, the program stops.
  public func removeAll() {
    checkOwner()
    _ = owner.values.clear()
  }

  @inlinable
  func own<Key: ThreadDictionaryKey>(_ key: Key.Type) -> Key.Value? {
    guard let box = unsafe owner.values.ownValue(of: ObjectIdentifier(key)) else { return nil }
    // SAFETY: what is stored under the key is a box of this very type, and only this thread takes it
    // out of the table, which it does not do while the value is copied.
    return unsafe box._withUnsafeGuaranteedRef {
      unsafe unsafeDowncast($0, to: ThreadValueBox<Key.Value>.self).value
    }
  }

  @inlinable
  func setOwn<Key: ThreadDictionaryKey>(_ value: Key.Value?, _ key: Key.Type) {
    owner.values.setOwn(value.map { ThreadValueBox($0) }, for: ObjectIdentifier(key))
  }

  @inlinable
  func checkOwner() {
    if !owner.isCurrent {
      fatalError("ThreadDictionary: a local value of a thread was asked for by another thread")
    }
  }
}

extension ThreadHandle {
  /// The thread's dictionary.
  public var dictionary: ThreadDictionary { ThreadDictionary(owner: self) }
}
