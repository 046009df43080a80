import Testing

extension Trait where Self == TimeLimitTrait {
  /// For a test that would hang if what it tests were wrong.
  ///
  /// All tests begin at once and then share a few threads, so the time of a test includes that of those
  /// before it. The limit is therefore far above what the whole suite takes on a slow machine, under a
  /// sanitizer.
  public static var endsInTime: TimeLimitTrait {
    .timeLimit(.minutes(LongTests.areOn ? 240 : 15))
  }
}
