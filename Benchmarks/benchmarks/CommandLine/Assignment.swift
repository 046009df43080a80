import BenchmarkSupport
import Foundation

/// What is to be done: the options, checked against the catalogue and the files that they name, so
/// that nothing is measured in vain.
struct Assignment {
  let options: Options
  /// To be measured beside their rivals.
  let workloads: [Workload]
  /// To be measured at growing numbers of items.
  let growing: [Workload]
  let gate: Gate?
  let saved: SavedRun?
  let save: OutputFile?
  let report: OutputFile?

  /// - Throws: a `UsageError` or `FileError` for what cannot be followed.
  init(_ options: Options, catalogue: [Workload]) throws {
    self.options = options
    gate = try options.gate.map {
      try Gate(InputFile($0, for: "--gate"), catalogue: catalogue)
    }
    saved = try options.compare.map {
      try SavedRun(InputFile($0, for: "--compare"), catalogue: catalogue)
    }
    let offered = gate?.workloads(of: catalogue) ?? catalogue
    let selected = try Self.selected(offered, by: options.filter)
    if let threads = options.threads, !selected.contains(where: \.hasWidth) {
      throw UsageError(
        option: "--threads", value: threads.map(String.init).joined(separator: ","),
        allowed: "only with workloads that exist for any number (--list marks them)")
    }
    growing = options.scales ? selected.filter(\.scales) : []
    if options.scales, growing.isEmpty {
      throw UsageError(
        option: "--scale", value: options.filter ?? "",
        allowed: "only with workloads that can grow (--list marks them)")
    }
    // A page has bars and curves; otherwise growth alone is what was asked for.
    workloads = options.scales && options.report == nil && options.action == .run ? [] : selected
    if let saved, options.action == .run {
      let known = Set(saved.entries.keys.map(\.workload))
      guard workloads.contains(where: { known.contains($0.name) }) else {
        throw UsageError(
          option: "--compare", value: options.compare, allowed: "a file with a workload of this run"
        )
      }
    }
    let writes = options.action == .run
    save = try writes ? options.save.map { try OutputFile($0, for: "--save") } : nil
    report = try writes ? options.report.map { try OutputFile($0, for: "--report") } : nil
    if let save, let report, save.target == report.target {
      throw UsageError(
        option: "--report", value: report.path, allowed: "another file than --save writes")
    }
  }

  private static func selected(
    _ offered: [Workload], by filter: String?
  ) throws(UsageError) -> [Workload] {
    guard let filter, let pattern = try? Regex(filter) else { return offered }
    let found = offered.filter { $0.name.contains(pattern) }
    guard !found.isEmpty else {
      throw UsageError(
        option: "--filter", value: filter,
        allowed: "an expression that matches the name of a workload (--list names them)")
    }
    return found
  }
}
