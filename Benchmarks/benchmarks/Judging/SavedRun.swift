import BenchmarkSupport
import Foundation

/// The figures of a run in a file, for later runs to be compared with.
///
/// The file is the tab-separated form of the report between lines that begin with `#`: above it what the
/// file is, the machine, and the date; below it how many rows it has, so that one that was cut shows.
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

    """ + TSV.text(of: report.rows) + "\(end(of: report.rows.count))\n"
  }

  private static func end(of rows: Int) -> String { "# \(rows) rows" }

  /// Reads a file.
  ///
  /// - Throws: an error for the first line that is not what ``text(of:)`` writes, or that measures a
  ///   workload of the catalogue in another unit.
  init(_ file: InputFile, catalogue: [Workload]) throws(FileError) {
    let first = "# \(Report.schema)"
    guard file.lines.first == first else {
      throw file.refusal(ofLine: 1, expected: "\"\(first)\", as --save writes it")
    }
    for number in 2...3 {
      let line = file.lines.dropFirst(number - 1).first ?? ""
      guard line.hasPrefix("# "), line.count > 2 else {
        throw file.refusal(
          ofLine: number, expected: "\"# \" and \(number == 2 ? "the machine" : "the date")")
      }
    }
    machine = String(file.lines[1].dropFirst(2))
    date = String(file.lines[2].dropFirst(2))
    guard file.lines.dropFirst(3).first == TSV.header else {
      throw file.refusal(ofLine: 4, expected: "the names of the columns, as --save writes them")
    }
    let units = Dictionary(
      catalogue.map { ($0.name, $0.unit) }, uniquingKeysWith: { first, _ in first })
    var entries: [Key: Entry] = [:]
    for (index, line) in file.lines.enumerated().dropFirst(4) {
      if line == Self.end(of: entries.count), !entries.isEmpty, index == file.lines.count - 1 {
        self.entries = entries
        return
      }
      guard let (key, entry) = Self.row(line) else {
        throw file.refusal(
          ofLine: index + 1,
          expected: "\(Row.columns.count) fields with tabs between them, as --save writes them, or "
            + "as the last line the number of rows above, \"\(Self.end(of: entries.count))\"")
      }
      if let unit = units[key.workload], unit != entry.unit {
        throw file.refusal(
          ofLine: index + 1, expected: "\(unit.rawValue) as the unit of \(key.workload)")
      }
      guard entries.updateValue(entry, forKey: key) == nil else {
        throw file.refusal(
          ofLine: index + 1, expected: "each implementation of a workload once")
      }
    }
    throw file.refusal(
      ofLine: file.lines.count + 1,
      expected: entries.isEmpty ? "at least one row" : "\"\(Self.end(of: entries.count))\"")
  }

  private static func row(_ line: String) -> (Key, Entry)? {
    let fields = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
    guard fields.count == Row.columns.count else { return nil }
    let columns = Dictionary(uniqueKeysWithValues: zip(Row.columns, fields))
    func value(_ key: Row.CodingKeys) -> Double? {
      OptionValues.number(columns[key.rawValue] ?? "", in: 0...Double.greatestFiniteMagnitude)
    }
    func isCount(_ key: Row.CodingKeys) -> Bool {
      OptionValues.number(columns[key.rawValue] ?? "", in: 1...Int.max) != nil
    }
    func isRatio(_ key: Row.CodingKeys) -> Bool {
      columns[key.rawValue] == "" || value(key) != nil
    }
    guard let unit = columns[Row.CodingKeys.unit.rawValue].flatMap(Quantity.init),
      let median = value(.median), let minimum = value(.minimum),
      let percentile99 = value(.percentile99), minimum <= median, median <= percentile99,
      [.items, .threads, .samples].allSatisfy(isCount),
      [.spread, .cpuNanoseconds, .switches].allSatisfy({ value($0) != nil }),
      [.ratioToOurs, .ratioLowerQuartile, .ratioUpperQuartile].allSatisfy(isRatio),
      !fields[0].isEmpty, !fields[1].isEmpty
    else { return nil }
    return (
      Key(workload: fields[0], implementation: fields[1]),
      Entry(unit: unit, median: median, minimum: minimum)
    )
  }
}
