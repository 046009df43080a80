/// Columns that line up, for people.
package enum AlignedTable {
  /// The text with a header; the first `leftColumns` columns are flush left, the others flush right.
  package static func text(header: [String], rows: [[String]], leftColumns: Int) -> String {
    let lines = [header] + rows
    let widths = header.indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
    return lines.map { line in
      let cells = line.enumerated().map { column, cell in
        let padding = String(repeating: " ", count: widths[column] - cell.count)
        return column < leftColumns ? cell + padding : padding + cell
      }
      // No blanks at the end of a line, which a left column at the end would leave.
      let joined = cells.joined(separator: "  ")
      return String(joined.reversed().drop { $0 == " " }.reversed()) + "\n"
    }.joined()
  }
}
