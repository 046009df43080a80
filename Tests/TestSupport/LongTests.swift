import Glibc

/// The longer mode of the tests, for a machine that has the time: with `THREADING_LONG_TESTS=1` in
/// the environment, stress tests do a hundred times as much.
public enum LongTests {
  /// Whether the longer mode is asked for.
  public static let areOn =
    unsafe getenv("THREADING_LONG_TESTS").map {
      unsafe String(cString: $0) == "1"
    } ?? false

  /// How many operations a stress test does: 10^5, in the longer mode 10^7.
  public static let operations = areOn ? 10_000_000 : 100_000
}
