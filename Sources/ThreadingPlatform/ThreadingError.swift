internal import CThreadingPlatform

/// What the system, or a check of ours before calling it, refused.
///
/// Each error names the call that was refused, the `errno` value that the system gave (or would
/// give: a value that is refused before the call carries the `errno` of the call that it would have
/// failed in) and a message that says which value was wrong and what is allowed.
///
/// Programming errors are not reported this way: they stop the program with a message.
public struct ThreadingError: Error, Hashable, Sendable {
  /// The call that was refused: a system call or library function (`"pthread_create"`), or the
  /// toolkit's own property or method (`"ThreadAttributes.stackSize"`).
  public let call: String

  /// The `errno` value, as in the manual page of the call. Never 0.
  public let code: CInt

  /// What was refused and what would be accepted.
  public let message: String

  /// An error of the given call, code and message.
  public init(call: String, code: CInt, message: String) {
    self.call = call
    self.code = code
    self.message = message
  }

  /// The symbol of ``code``, such as `"EAGAIN"`; the number itself where the system has no symbol.
  public var codeName: String {
    guard let name = unsafe ctp_errno_name(code) else { return String(code) }
    return unsafe String(cString: name)
  }
}

extension ThreadingError: CustomStringConvertible {
  /// The call, the symbol of the code and the message: `"pthread_create (EAGAIN): ..."`.
  public var description: String { "\(call) (\(codeName)): \(message)" }
}
