internal import Glibc

extension ThreadingError {
  /// An error for what is refused before the system is asked.
  package static func refused(
    by method: String, code: RefusalCode, _ message: String
  ) -> ThreadingError {
    ThreadingError(call: method, code: code.errno, message: message)
  }

  /// Whether a message or line was longer than allowed.
  package var isTooLong: Bool { code == EMSGSIZE }

  /// The `errno` values of refusals that the package makes itself.
  package enum RefusalCode: Sendable {
    /// EINVAL: a value out of range, or an object in the wrong state.
    case invalid
    /// EDEADLK: the wait could never end.
    case deadlock
    /// ESRCH: there is no thread.
    case noThread
    /// EEXIST: it is there already.
    case exists
    /// EMSGSIZE: a message or line is longer than allowed.
    case tooLong
    /// EBUSY: the object is in use elsewhere.
    case inUse
    /// ECANCELED: the work was broken off, or cancelled before it began.
    case brokenOff
    /// EAGAIN: something is used up.
    case outOfResources

    fileprivate var errno: CInt {
      switch self {
      case .invalid: EINVAL
      case .deadlock: EDEADLK
      case .noThread: ESRCH
      case .exists: EEXIST
      case .tooLong: EMSGSIZE
      case .inUse: EBUSY
      case .brokenOff: ECANCELED
      case .outOfResources: EAGAIN
      }
    }
  }
}
