import ThreadingPlatform

/// What one batch took, for each of its items.
struct Sample: Equatable, Sendable {
  /// In the workload's unit.
  let value: Double
  /// Processor time of the whole process, in nanoseconds.
  let cpuNanoseconds: Double
  /// Times that a thread of the process gave up or lost its processor.
  let switches: Double

  /// The figures of a batch of `items` items.
  init(value: Int64, used: ProcessUsage, items: Int) {
    self.value = Double(value) / Double(items)
    cpuNanoseconds = Double(used.cpuNanoseconds) / Double(items)
    switches = Double(used.switches) / Double(items)
  }
}
