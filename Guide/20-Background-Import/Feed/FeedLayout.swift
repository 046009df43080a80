/// How the rows of one file become rows of a table. Made from the file's header line.
struct FeedLayout {
  let table: FeedTable

  /// For each column of the table, its place in the file; nil if the file does not have it.
  private let places: [Int?]

  /// How many fields each row must have: as many as the header.
  private let fieldCount: Int

  /// Columns of the file that the table has no place for.
  let unknownColumns: [String]

  /// How many columns of the file have no name, as when lines end with a comma.
  let unnamedColumns: Int

  /// Reads the header that `reader` has at hand.
  ///
  /// - Throws: `BadHeader` if a column that must be there is missing, or one is there twice.
  init(header reader: borrowing CSVReader, table: FeedTable) throws(BadHeader) {
    var names: [String] = []
    for field in reader.fields {
      var bytes: [UInt8] = []
      _ = reader.append(field, to: &bytes)
      let name = Self.name(bytes)
      if !name.isEmpty && names.contains(name) {
        throw BadHeader(
          .unusableHeader, reader.position(at: field.start),
          "the column \(Printable(name)) is there twice")
      }
      names.append(name)
    }
    for column in table.columns
    where column.presence != .optional && !names.contains(column.name) {
      throw BadHeader(
        .missingColumn, reader.endPosition, "the column \(column.name), which must be there, is not"
      )
    }
    let known = table.columns.map(\.name)
    self.table = table
    places = known.map { names.firstIndex(of: $0) }
    fieldCount = names.count
    unknownColumns = names.filter { !$0.isEmpty && !known.contains($0) }
    unnamedColumns = names.count { $0.isEmpty }
  }

  /// Reads the values of the record that `reader` has at hand.
  ///
  /// - Returns: what is wrong with the record; nil if `row` now holds its values.
  func read(_ reader: borrowing CSVReader, into row: inout FeedRow) -> Problem? {
    let fields = reader.fields
    guard fields.count == fieldCount else { return wrongFieldCount(reader) }
    row.bytes.removeAll(keepingCapacity: true)
    row.values.removeAll(keepingCapacity: true)
    for (column, place) in zip(table.columns, places) {
      guard let place else {
        row.values.append(absent(column))
        continue
      }
      let range = reader.append(fields[place], to: &row.bytes)
      guard let value = column.kind.value(of: row.bytes, in: range) else {
        let text = Printable(String(decoding: row.bytes[range], as: UTF8.self))
        return Problem(
          kind: .badValue, position: reader.position(at: fields[place].start),
          reason: "\(column.name) \(text) is not \(column.kind.expectation)")
      }
      if value == .null && column.presence == .valueRequired {
        return Problem(
          kind: .missingValue, position: reader.position(at: fields[place].start),
          reason: "\(column.name) is empty")
      }
      row.values.append(value == .null ? absent(column) : value)
    }
    return nil
  }

  /// The problem of a row whose key an earlier row of the file had.
  func duplicateKey(_ reader: borrowing CSVReader, _ row: FeedRow) -> Problem {
    let key = table.keyIndexes.map { "\(table.columns[$0].name) \(text(row, $0))" }
    let first = table.keyIndexes.compactMap { places[$0] }.min() ?? 0
    return Problem(
      kind: .duplicateKey, position: reader.position(at: reader.fields[first].start),
      reason: "an earlier row has the same \(key.joined(separator: ", "))")
  }

  private func text(_ row: FeedRow, _ column: Int) -> String {
    switch row.values[column] {
    case .null: "nothing"
    case .integer(let number): String(number)
    case .decimal(let number): String(number)
    case .text(let range): Printable(String(decoding: row.bytes[range], as: UTF8.self)).description
    }
  }

  /// What a column has in a row without a value. In a key it is the empty text: in SQL, two nulls
  /// differ, so a key with a null in it would never be found again.
  private func absent(_ column: FeedColumn) -> FeedValue {
    table.key.contains(column.name) ? .text(0..<0) : .null
  }

  private func wrongFieldCount(_ reader: borrowing CSVReader) -> Problem {
    let count = reader.fields.count
    // Too many: the first that is too much. Too few: where the next should have been.
    let position =
      count > fieldCount
      ? reader.position(at: reader.fields[fieldCount].start) : reader.endPosition
    return Problem(
      kind: .wrongFieldCount, position: position,
      reason: "\(count) field\(count == 1 ? "" : "s") where the header has \(fieldCount)")
  }

  private static func name(_ bytes: [UInt8]) -> String {
    let isBlank: (UInt8) -> Bool = { $0 == .space || $0 == .tab }
    let text = bytes.drop(while: isBlank).reversed().drop(while: isBlank).reversed()
    return String(decoding: Array(text), as: UTF8.self)
  }
}
