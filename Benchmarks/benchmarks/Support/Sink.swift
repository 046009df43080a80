import Synchronization

/// Swallows values that are computed only to take time.
///
/// A relaxed atomic store is an effect that the compiler keeps, of every value: it can neither drop
/// the computation nor fold a loop of them into one. It costs about a nanosecond.
enum Sink {
  private static let hole = Atomic<UInt64>(0)

  @inline(__always)
  static func swallow(_ value: UInt64) {
    hole.store(value, ordering: .relaxed)
  }
}
