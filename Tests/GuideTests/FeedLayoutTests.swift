import TestSupport
import Testing

@testable import guide

@Suite("FeedLayout", .endsInTime)
struct FeedLayoutTests {
  /// Reads a file of stops whole: its header, then each row's values, with text in place of ranges.
  private func read(_ text: String) throws -> [String] {
    var reader = CSVReader(Pieces(Array(text.utf8), size: .max))
    #expect(try reader.next() == .record)
    let layout = try FeedLayout(header: reader, table: .stops)
    var row = FeedRow()
    var lines: [String] = []
    while try reader.next() == .record {
      if let problem = layout.read(reader, into: &row) {
        lines.append(problem.reason)
        continue
      }
      let values = row.values.map { value in
        switch value {
        case .null: "-"
        case .integer(let number): "\(number)"
        case .decimal(let number): "\(number)"
        case .text(let range): String(decoding: row.bytes[range], as: UTF8.self)
        }
      }
      lines.append(values.joined(separator: " "))
    }
    return lines
  }

  @Test("columns may stand in any order, and those that may be missing are null")
  func order() throws {
    let text =
      "stop_lon,stop_lat,stop_id,wheelchair_boarding,stop_name\n2,1,A,0,\"a \"\"b\"\"\"\n,,B,,\n"
    #expect(try read(text) == ["A - a \"b\" - 1.0 2.0 - - - - - 0 -", "B - - - - - - - - - - - -"])
  }

  @Test("blanks around a column's name do not count, and a nameless column is passed over")
  func blanks() throws {
    let text = " stop_id,stop_name ,\tstop_lat,stop_lon,,\nA,B,1,2,x,y\nC,D,1,2\n"
    #expect(
      try read(text) == [
        "A - B - 1.0 2.0 - - - - - - -", "4 fields where the header has 6",
      ])
  }

  @Test("texts of earlier rows do not linger")
  func reuse() throws {
    let text = "stop_id,stop_name,stop_lat,stop_lon\nA,long name,1,2\nB,,,\n"
    #expect(try read(text).last == "B - - - - - - - - - - - -")
  }

  @Test("every table's key is among its columns, and no column is there twice")
  func tables() {
    for table in FeedTable.all {
      let names = table.columns.map(\.name)
      #expect(Set(names).count == names.count)
      #expect(table.keyIndexes.count == table.key.count)
      #expect(names.count > table.key.count)
    }
  }
}
