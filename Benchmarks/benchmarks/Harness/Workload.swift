import BenchmarkSupport
import ThreadingPlatform

/// Something to measure, done by several implementations that are to be compared.
struct Workload: Sendable {
  /// How many items a batch has.
  enum BatchSize: Sendable, Equatable {
    /// As many as make a batch long enough, found for each implementation before it is sampled.
    case calibrated
    /// This many in each round, for work whose cost may depend on the number; a batch is as many
    /// rounds as make it long enough.
    case fixed(Int)
  }

  /// `area/what`.
  let name: String
  /// What a batch returns.
  let unit: Quantity
  /// What one item is.
  let item: String
  /// Threads at work in it, besides one that sleeps.
  let threads: Int
  let size: BatchSize
  /// The name without the number of threads, where the workload is one of several that differ in
  /// that alone; otherwise the name.
  let family: String
  /// Whether what an item takes is worth measuring at growing numbers of items.
  let scales: Bool
  private(set) var implementations: [Implementation]

  init(
    _ name: String, item: String, threads: Int, size: BatchSize = .calibrated,
    unit: Quantity = .nanoseconds, family: String? = nil, scales: Bool = false,
    _ implementations: [Implementation]
  ) {
    self.name = name
    self.unit = unit
    self.family = family ?? name
    self.scales = scales
    self.item = item
    self.threads = threads
    self.size = size
    self.implementations = implementations
  }

  /// Whether it exists for any number of threads.
  var hasWidth: Bool { family != name }

  /// The workload with some of its implementations.
  func keeping(_ isKept: (String) -> Bool) -> Workload {
    var copy = self
    copy.implementations.removeAll { !isKept($0.name) }
    return copy
  }

  /// The workload with more implementations.
  func adding(_ more: [Implementation]) -> Workload {
    var copy = self
    copy.implementations += more
    return copy
  }
}

/// One way to do what a ``Workload`` names.
struct Implementation: Sendable {
  /// The name that the toolkit's own implementation has, to which all others are compared.
  static let oursName = "ours"

  let name: String
  /// Does `items` items, checks what came of them, and returns the nanoseconds that they took, or
  /// the bytes that they held; setting up and checking are not in it.
  let batch: @Sendable (_ items: Int) throws -> Int64

  init(_ name: String, _ batch: @escaping @Sendable (_ items: Int) throws -> Int64) {
    self.name = name
    self.batch = batch
  }

  /// Whether a name is that of one of the toolkit's own ways.
  static func isOurs(_ name: String) -> Bool {
    name == oursName || name.hasPrefix(oursName + "-")
  }

  /// The toolkit's own.
  static func ours(_ batch: @escaping @Sendable (_ items: Int) throws -> Int64) -> Implementation {
    Implementation(oursName, batch)
  }
}

/// What a batch throws when what it did is not what it should have done.
struct WrongResult: Error, Equatable, CustomStringConvertible {
  let description: String

  init(_ description: String) {
    self.description = description
  }

  /// Compares a result with what it must be.
  ///
  /// - Throws: when the two differ.
  static func unless<Value: Equatable>(
    _ what: String, _ actual: Value, is expected: Value
  ) throws(WrongResult) {
    guard actual == expected else {
      throw WrongResult("\(what) is \(actual), expected \(expected)")
    }
  }
}
