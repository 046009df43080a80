/// Tab-separated lines under one header line.
enum TSV {
  /// The rows with the columns of ``Row``; a ratio that does not exist is an empty field.
  static func text(of rows: [Row]) -> String {
    let lines = rows.map { row in
      [
        row.workload, row.implementation, String(row.threads), String(row.items),
        Figures.fixed(row.medianNanoseconds, decimals: 3),
        Figures.fixed(row.minimumNanoseconds, decimals: 3),
        Figures.fixed(row.percentile99Nanoseconds, decimals: 3),
        row.ratioToOurs.map { Figures.fixed($0, decimals: 4) } ?? "",
      ].joined(separator: "\t")
    }
    return ([Row.columns.joined(separator: "\t")] + lines).joined(separator: "\n") + "\n"
  }
}
