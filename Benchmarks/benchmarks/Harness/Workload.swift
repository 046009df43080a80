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
  /// What one item is.
  let item: String
  /// Threads at work in it, besides one that sleeps.
  let threads: Int
  let size: BatchSize
  let implementations: [Implementation]

  init(
    _ name: String, item: String, threads: Int, size: BatchSize = .calibrated,
    _ implementations: [Implementation]
  ) {
    self.name = name
    self.item = item
    self.threads = threads
    self.size = size
    self.implementations = implementations
  }
}

/// One way to do what a ``Workload`` names.
struct Implementation: Sendable {
  /// The name that the toolkit's own implementation has, to which all others are compared.
  static let oursName = "ours"

  let name: String
  /// Does `items` items, checks what came of them, and returns the nanoseconds that they took;
  /// setting up and checking are not in it.
  let batch: @Sendable (_ items: Int) throws -> Int64

  init(_ name: String, _ batch: @escaping @Sendable (_ items: Int) throws -> Int64) {
    self.name = name
    self.batch = batch
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
