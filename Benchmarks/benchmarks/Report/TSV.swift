import BenchmarkSupport

/// Tab-separated lines under one header line.
enum TSV {
  /// The first line: the columns of ``Row``, the samples as how many there are.
  static let header = Row.columns.joined(separator: "\t")

  /// The header and a line for each row; a ratio that does not exist is an empty field.
  static func text(of rows: [Row]) -> String {
    let lines = rows.map { row in
      [
        row.workload, row.implementation, row.unit.rawValue, String(row.threads),
        String(row.items), Figures.fixed(row.median, decimals: 3),
        Figures.fixed(row.minimum, decimals: 3), Figures.fixed(row.percentile99, decimals: 3),
        Figures.fixed(row.spread, decimals: 4), Figures.fixed(row.cpuNanoseconds, decimals: 3),
        Figures.fixed(row.switches, decimals: 6), ratio(row.ratioToOurs),
        ratio(row.ratioLowerQuartile), ratio(row.ratioUpperQuartile), String(row.samples.count),
      ].joined(separator: "\t")
    }
    return ([header] + lines).joined(separator: "\n") + "\n"
  }

  /// A header and a line for each point.
  static func text(of growth: [Growth]) -> String {
    let lines = growth.flatMap { one in
      one.points.map { point in
        [
          one.workload, one.implementation, one.unit.rawValue, String(point.items),
          Figures.fixed(point.value, decimals: 3), ratio(one.exponent),
        ].joined(separator: "\t")
      }
    }
    let header = ["workload", "implementation", "unit", "items", "median", "exponent"]
    return ([header.joined(separator: "\t")] + lines).joined(separator: "\n") + "\n"
  }

  private static func ratio(_ value: Double?) -> String {
    value.map { Figures.fixed($0, decimals: 4) } ?? ""
  }
}
