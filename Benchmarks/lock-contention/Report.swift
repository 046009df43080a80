import BenchmarkSupport
import Foundation

/// The rows as text.
struct Report {
  let machine: Machine
  let options: Options
  let rows: [Row]

  var text: String {
    switch options.format {
    case .table: table
    case .tsv: ([header] + rows.map(cells)).map { $0.joined(separator: "\t") + "\n" }.joined()
    case .json: json
    }
  }

  private var header: [String] { Row.CodingKeys.allCases.map(\.rawValue) }

  private func cells(_ row: Row) -> [String] {
    [row.lock, String(row.threads), String(row.turns)]
      + [
        row.nanoseconds, row.minimumNanoseconds, row.processorNanoseconds, row.shareRatio,
        row.handedPercent, row.sleepsPercent, row.longestMilliseconds, row.worstMilliseconds,
        row.starvedMilliseconds, row.worstStarvedMilliseconds,
      ].map { String(format: "%.2f", $0) }
  }

  private var table: String {
    let setting = """
      \(machine.summary)
      \(machine.date)
      \(options.inside) ns inside, \(options.outside) ns outside, placement \
      \(options.placement.rawValue), \(options.slices) slices of \(options.slice) ms each, \
      interleaved


      """
    return setting + AlignedTable.text(header: header, rows: rows.map(cells), leftColumns: 1)
  }

  private var json: String {
    let document = Document(
      schema: "swift-threading lock-contention 3", machine: machine,
      insideNanoseconds: options.inside,
      outsideNanoseconds: options.outside, placement: options.placement.rawValue,
      slices: options.slices, sliceMilliseconds: options.slice, rows: rows)
    return JSONText.of(document)
  }

  /// The shape of `--format json`.
  struct Document: Codable, Equatable {
    let schema: String
    let machine: Machine
    let insideNanoseconds: Int
    let outsideNanoseconds: Int
    let placement: String
    let slices: Int
    let sliceMilliseconds: Int
    let rows: [Row]

    enum CodingKeys: String, CodingKey {
      case schema
      case machine
      case insideNanoseconds = "inside_ns"
      case outsideNanoseconds = "outside_ns"
      case placement
      case slices
      case sliceMilliseconds = "slice_ms"
      case rows
    }
  }
}
