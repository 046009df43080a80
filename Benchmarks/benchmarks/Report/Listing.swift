import BenchmarkSupport

/// The text of `--list`.
enum Listing {
  /// One line for each workload: its name, threads, implementations and what one item is.
  static func text(of workloads: [Workload]) -> String {
    AlignedTable.text(
      header: ["workload", "threads", "options", "implementations", "one item"],
      rows: workloads.map { workload in
        [
          workload.name, String(workload.threads),
          [workload.hasWidth ? "threads" : nil, workload.scales ? "scale" : nil]
            .compactMap(\.self).joined(separator: ","),
          workload.implementations.map(\.name).joined(separator: ","), workload.item,
        ]
      }, leftColumns: 5)
  }
}
