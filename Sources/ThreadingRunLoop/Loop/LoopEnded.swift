internal import ThreadingPlatform

extension ThreadingError {
  /// What a call is refused with when the loop's thread has ended.
  static func loopEnded(_ call: String) -> ThreadingError {
    .refused(by: call, code: .noThread, "the loop's thread has ended")
  }

  /// What adding a source for the second time is refused with.
  static var alreadyOnLoop: ThreadingError {
    .refused(by: "ThreadRunLoop.add", code: .exists, "the source is on this loop already")
  }
}
