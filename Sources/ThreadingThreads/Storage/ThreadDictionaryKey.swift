/// A typed key of a ``ThreadDictionary``.
///
/// The key is a type; the dictionary holds at most one value for it.
///
/// ```swift
/// enum RequestID: ThreadDictionaryKey { typealias Value = Int }
/// ThreadDictionary.current[RequestID.self] = 42
/// ```
public protocol ThreadDictionaryKey {
  /// What is stored under the key.
  ///
  /// A value that is not `Sendable` is reached by the thread it belongs to alone, through
  /// ``ThreadDictionary/subscript(local:)``.
  associatedtype Value
}
