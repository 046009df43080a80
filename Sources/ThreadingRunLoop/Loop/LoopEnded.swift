internal import ThreadingPlatform

extension ThreadingError {
  /// What a call is refused with when the loop's thread has ended.
  static func loopEnded(_ call: String) -> ThreadingError {
    .refused(by: call, code: .noThread, "the loop's thread has ended")
  }
}
