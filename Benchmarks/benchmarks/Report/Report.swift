import Foundation

/// What a run found, and on which machine.
struct Report {
  let machine: Machine
  let plan: Plan
  let rows: [Row]

  /// The report as one of the formats of the command line, with a line end after the last line.
  func text(as format: Options.Format) -> String {
    switch format {
    case .table: table
    case .tsv: TSV.text(of: rows)
    case .json: json
    }
  }

  private var table: String {
    let heading = """
      \(machine.cpu), \(machine.cores) cores, \(machine.kernel), \(machine.libc), \
      Swift \(machine.swift), \(machine.build) build
      \(machine.date), samples of each: \(plan.samples), interleaved


      """
    return heading
      + AlignedTable.text(
        header: [
          "workload", "implementation", "threads", "items", "median", "min", "p99", "ratio",
        ],
        rows: rows.map { row in
          [
            row.workload, row.implementation, String(row.threads), Figures.grouped(row.items),
            Figures.forPeople(row.medianNanoseconds), Figures.forPeople(row.minimumNanoseconds),
            Figures.forPeople(row.percentile99Nanoseconds),
            row.ratioToOurs.map { Figures.fixed($0, decimals: 2) } ?? "-",
          ]
        }, leftColumns: 2)
        + """

        Times are nanoseconds an item; ratio is time relative to `ours` (above 1: ours is faster).

        """
  }

  private var json: String {
    let document = JSONDocument(
      schema: "swift-threading benchmarks 1", machine: machine,
      method: JSONDocument.Method(
        samples: plan.samples, shortestSampleNanoseconds: plan.shortestBatch,
        order: "each round samples every implementation once, starting one further each round",
        ratioToOurs: "median over the rounds of the time relative to ours in the same round"),
      rows: rows)
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    do {
      return String(decoding: try encoder.encode(document), as: UTF8.self) + "\n"
    } catch {
      // Only a figure that is not a number could not be written; times are finite.
      fatalError("Report: \(error)")
    }
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
}
