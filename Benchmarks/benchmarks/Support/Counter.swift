import Synchronization

/// Counts from several threads at once.
final class Counter: Sendable {
  private let count = Atomic<Int>(0)

  @inline(__always)
  func increment() { count.wrappingAdd(1, ordering: .relaxed) }

  // relaxed, both: who reads the count has waited for those who wrote it.
  var value: Int { count.load(ordering: .relaxed) }
}
