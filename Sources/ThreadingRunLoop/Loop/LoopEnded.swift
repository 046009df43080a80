internal import Glibc
internal import ThreadingPlatform

extension ThreadingError {
  /// What a call is refused with when the loop's thread has ended.
  static func loopEnded(_ call: String) -> ThreadingError {
    ThreadingError(call: call, code: ESRCH, message: "the loop's thread has ended")
  }
}
