import Glibc

/// The system refused something about a file.
struct FileError: Error, Equatable, CustomStringConvertible {
  /// What was tried: `"open"`, `"read"`.
  let action: String
  let path: String

  /// Why, in words.
  let reason: String

  init(action: String, path: String, reason: String) {
    self.action = action
    self.path = path
    self.reason = reason
  }

  /// An error of a call that left its reason in `errno`.
  init(action: String, path: String, code: CInt) {
    let reason = unsafe String(cString: strerror(code))
    self.init(action: action, path: path, reason: reason)
  }

  var description: String { "cannot \(action) \(path): \(reason)" }
}
