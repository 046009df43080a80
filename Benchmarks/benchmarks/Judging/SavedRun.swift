import BenchmarkSupport
import Foundation

/// The figures of a run in a file, for later runs to be compared with.
///
/// The file is the tab-separated form of the report under three lines that begin with `#`: what the
/// file is, the machine, and the date.
struct SavedRun: Equatable {
  /// What is kept of a row.
  struct Entry: Equatable {
    let unit: Quantity
    let median: Double
    let minimum: Double
  }

  struct Key: Hashable {
    let workload: String
    let implementation: String
  }

  /// The line that names the machine, without its `#`.
  let machine: String
  let date: String
  let entries: [Key: Entry]

  /// The text of a file.
  static func text(of report: Report) -> String {
    """
    # \(Report.schema)
    # \(report.machine.summary)
    # \(report.machine.date)

    """ + TSV.text(of: report.rows)
  }

  /// Reads a file.
  ///
  /// - Throws: an error for the first line that is not what ``text(of:)`` writes.
  init(_ file: InputFile) throws(FileError) {
    let first = "# \(Report.schema)"
    guard file.lines.first == first else {
      throw file.refusal(ofLine: 1, expected: "\"\(first)\", as --save writes it")
    }
    for number in 2...3 where !(file.lines.dropFirst(number - 1).first ?? "").hasPrefix("# ") {
      throw file.refusal(
        ofLine: number, expected: "\"# \" and \(number == 2 ? "the machine" : "the date")")
    }
    machine = String(file.lines[1].dropFirst(2))
    date = String(file.lines[2].dropFirst(2))
    guard file.lines.dropFirst(3).first == TSV.header else {
      throw file.refusal(ofLine: 4, expected: "the names of the columns, as --save writes them")
    }
    var entries: [Key: Entry] = [:]
    for (index, line) in file.lines.enumerated().dropFirst(4) {
      guard let (key, entry) = Self.row(line) else {
        throw file.refusal(
          ofLine: index + 1,
          expected: "\(Row.columns.count) fields with tabs between them, as --save writes them")
      }
      guard entries.updateValue(entry, forKey: key) == nil else {
        throw file.refusal(
          ofLine: index + 1, expected: "each implementation of a workload once")
      }
    }
    self.entries = entries
  }

  private static func row(_ line: String) -> (Key, Entry)? {
    let fields = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
    guard fields.count == Row.columns.count else { return nil }
    let columns = Dictionary(uniqueKeysWithValues: zip(Row.columns, fields))
    func value(_ key: Row.CodingKeys) -> Double? {
      columns[key.rawValue].flatMap(Double.init).flatMap { $0.isFinite && $0 >= 0 ? $0 : nil }
    }
    guard let unit = columns[Row.CodingKeys.unit.rawValue].flatMap(Quantity.init),
      let median = value(.median), let minimum = value(.minimum), value(.percentile99) != nil,
      value(.items) != nil, value(.threads) != nil, value(.samples) != nil,
      !fields[0].isEmpty, !fields[1].isEmpty
    else { return nil }
    return (
      Key(workload: fields[0], implementation: fields[1]),
      Entry(unit: unit, median: median, minimum: minimum)
    )
  }
}
