import BenchmarkSupport
import Foundation

/// What a run found, and on which machine.
struct Report {
  let machine: Machine
  let plan: Plan
  let rows: [Row]
  /// Of workloads that were measured at growing numbers of items.
  var growth: [Growth] = []

  /// Name and version of what is written for programs to read.
  static let schema = "swift-threading benchmarks 3"

  /// The report as one of the formats of the command line, with a line end after the last line.
  func text(as format: OutputFormat) -> String {
    switch format {
    case .table: table
    case .tsv:
      // Two tables of different columns: one, where there is only one.
      [
        rows.isEmpty && !growth.isEmpty ? nil : TSV.text(of: rows),
        growth.isEmpty ? nil : TSV.text(of: growth),
      ].compactMap(\.self).joined(separator: "\n")
    case .json: json
    }
  }

  private var table: String {
    let times = rows.filter { $0.unit == .nanoseconds }
    let memory = rows.filter { $0.unit == .bytes }
    let wakeUps = rows.filter { $0.unit == .wakeUps }
    var text = """
      \(machine.summary)
      \(machine.date), samples of each: \(plan.samples), interleaved


      """
    if !times.isEmpty || (rows.isEmpty && growth.isEmpty) { text += Self.timeTable(times) + "\n" }
    for (heading, rows) in [("memory of", memory), ("wake-ups of", wakeUps)] where !rows.isEmpty {
      text += Self.amountTable(rows, heading) + "\n"
    }
    if !growth.isEmpty { text += Self.growthTable(growth) + "\n" }
    text += """
      Times are nanoseconds an item, memory is bytes an item; ratio is relative to `ours` (above 1:
      ours needs less; none where ours needs nothing). cpu and switches are of the whole process, an
      item.

      """
    return text + noise
  }

  private static func timeTable(_ rows: [Row]) -> String {
    AlignedTable.text(
      header: [
        "workload", "implementation", "median", "min", "p99", "spread", "cpu", "switches",
        "ratio ",
      ],
      rows: rows.map { row in
        [
          row.workload, row.implementation, Figures.forPeople(row.median),
          Figures.forPeople(row.minimum), Figures.forPeople(row.percentile99),
          Figures.percent(row.spread), Figures.forPeople(row.cpuNanoseconds),
          switches(row.switches), ratio(of: row),
        ]
      }, leftColumns: 2)
  }

  private static func amountTable(_ rows: [Row], _ heading: String) -> String {
    AlignedTable.text(
      header: [heading, "implementation", "items", "median", "min", "p99", "spread", "ratio "],
      rows: rows.map { row in
        [
          row.workload, row.implementation, Figures.compact(row.items),
          Figures.forPeople(row.median), Figures.forPeople(row.minimum),
          Figures.forPeople(row.percentile99), Figures.percent(row.spread), ratio(of: row),
        ]
      }, leftColumns: 2)
  }

  private static let growthLegend = """

    What an item takes when there are so many; the exponent is that of the time for all of them:
    1 is linear. "-" was not measured: it would take too long.

    """

  private static func growthTable(_ growth: [Growth]) -> String {
    let sizes = Set(growth.flatMap { $0.points.map(\.items) }).sorted()
    return AlignedTable.text(
      header: ["growth of", "implementation"] + sizes.map(Figures.compact) + ["exponent"],
      rows: growth.map { one in
        [one.workload, one.implementation]
          + sizes.map { size in
            one.points.first { $0.items == size }.map { Figures.forPeople($0.value) } ?? "-"
          } + [one.exponent.map { Figures.fixed($0, decimals: 2) } ?? "-"]
      }, leftColumns: 2) + growthLegend
  }

  /// Nothing where there are none to speak of: most items of most batches run through.
  private static func switches(_ value: Double) -> String {
    value < 0.005 ? "0" : Figures.forPeople(value)
  }

  /// With a mark where the samples lie too far apart.
  private static func ratio(of row: Row) -> String {
    let text = row.ratioToOurs.map { Figures.fixed($0, decimals: 2) } ?? "-"
    return text + (row.isNoisy ? "~" : " ")
  }

  /// A warning that names what cannot be concluded; empty where all can.
  var noise: String {
    let noisy = rows.filter(\.isNoisy)
    guard !noisy.isEmpty else { return "" }
    let names = noisy.map { "  \($0.workload), \($0.implementation)\n" }.joined()
    return """

      TOO NOISY TO CONCLUDE (~): half of the samples lie further apart than a factor of \
      \(Figures.fixed(Row.noisyRange, decimals: 1)) in
      \(names)Run them again on a quieter machine, or with more samples.

      """
  }

  private var json: String {
    let document = JSONDocument(
      schema: Self.schema, machine: machine,
      method: JSONDocument.Method(
        samples: plan.samples, shortestSampleNanoseconds: plan.shortestBatch,
        order: "each round samples every implementation once, starting one further each round",
        ratioToOurs: "median over the rounds of the time relative to ours in the same round"),
      rows: rows, growth: growth)
    return JSONText.of(document)
  }
}

/// The shape of `--format json`.
struct JSONDocument: Codable, Equatable {
  struct Method: Codable, Equatable {
    let samples: Int
    let shortestSampleNanoseconds: Int64
    let order: String
    let ratioToOurs: String

    enum CodingKeys: String, CodingKey {
      case samples
      case shortestSampleNanoseconds = "shortest_sample_ns"
      case order
      case ratioToOurs = "ratio_to_ours"
    }
  }

  /// Name and version of this shape.
  let schema: String
  let machine: Machine
  let method: Method
  let rows: [Row]
  /// Of workloads that were measured at growing numbers of items.
  let growth: [Growth]
}
