import TestSupport
import Testing

@testable import guide

@Suite("CSVReader", .endsInTime)
struct CSVReaderTests {
  /// An input and what it must read as.
  struct Trap: CustomTestStringConvertible, Sendable {
    let name: String
    let input: [UInt8]
    let items: [Reading.Item]
    var blankLines = 0

    var testDescription: String { name }

    init(_ name: String, _ input: String, _ items: [Reading.Item], blankLines: Int = 0) {
      self.init(name, Array(input.utf8), items, blankLines: blankLines)
    }

    init(_ name: String, _ input: [UInt8], _ items: [Reading.Item], blankLines: Int = 0) {
      self.name = name
      self.input = input
      self.items = items
      self.blankLines = blankLines
    }
  }

  static let wellFormed = [
    Trap("no bytes at all", "", []),
    Trap("a byte-order mark and nothing else", "\u{FEFF}", []),
    Trap("a line", "a,b,c\n", [.record(line: 1, ["a", "b", "c"])]),
    Trap(
      "a last line without an end", "a,b\nc,d",
      [.record(line: 1, ["a", "b"]), .record(line: 2, ["c", "d"])]),
    Trap(
      "CR LF", "a,b\r\nc,d\r\n", [.record(line: 1, ["a", "b"]), .record(line: 2, ["c", "d"])]),
    Trap("CR alone", "a,b\rc,d\r", [.record(line: 1, ["a", "b"]), .record(line: 2, ["c", "d"])]),
    Trap(
      "all line ends mixed", "a\nb\r\nc\rd",
      [
        .record(line: 1, ["a"]), .record(line: 2, ["b"]), .record(line: 3, ["c"]),
        .record(line: 4, ["d"]),
      ]),
    Trap("a byte-order mark", "\u{FEFF}a,b\n", [.record(line: 1, ["a", "b"])]),
    Trap("a byte-order mark before a quote", "\u{FEFF}\"a\",b\n", [.record(line: 1, ["a", "b"])]),
    Trap(
      "a byte-order mark elsewhere is text", "a\n\u{FEFF}b\n",
      [.record(line: 1, ["a"]), .record(line: 2, ["\u{FEFF}b"])]),
    Trap(
      "the beginning of a byte-order mark is none", [0xEF, 0xBB],
      [.problem(.invalidUTF8, line: 1, column: 1)]),
    Trap(
      "empty fields", ",,\n,x,\n",
      [.record(line: 1, ["", "", ""]), .record(line: 2, ["", "x", ""])]),
    Trap("a comma at the very end", "a,", [.record(line: 1, ["a", ""])]),
    Trap("quoted commas", "\"a,b\",c\n", [.record(line: 1, ["a,b", "c"])]),
    Trap(
      "doubled quotes", "\"say \"\"hi\"\"\",\"\"\"\"\n", [.record(line: 1, ["say \"hi\"", "\""])]),
    Trap("an empty quoted field", "\"\",\"\"\n", [.record(line: 1, ["", ""])]),
    Trap("a quoted field alone is no blank line", "\"\"\n", [.record(line: 1, [""])]),
    Trap(
      "quoted line ends count as lines", "\"a\nb\r\nc\rd\",e\nf,g\n",
      [.record(line: 1, ["a\nb\r\nc\rd", "e"]), .record(line: 5, ["f", "g"])]),
    Trap("a quoted field at the very end", "a,\"b\"", [.record(line: 1, ["a", "b"])]),
    Trap(
      "a quoted field before CR LF", "\"a\"\r\n\"b\"\r\n",
      [.record(line: 1, ["a"]), .record(line: 2, ["b"])]),
    Trap(
      "quotes inside plain text are text", "5\" pipe,a\"\"b\n",
      [.record(line: 1, ["5\" pipe", "a\"\"b"])]),
    Trap(
      "blank lines", "\n a,b\r\n\r\n \t \nc\n\n",
      [.record(line: 2, [" a", "b"]), .record(line: 5, ["c"])], blankLines: 4),
    Trap("only blank lines", "\r\n\n  ", [], blankLines: 3),
    Trap("text beyond ASCII", "Zürich,日本,🚋\n", [.record(line: 1, ["Zürich", "日本", "🚋"])]),
    Trap("a NUL byte is text", "a\0b,c\n", [.record(line: 1, ["a\0b", "c"])]),
  ]

  static let malformed = [
    Trap(
      "a quote that is never closed costs one line", "a,b\nc,\"d\ne,f\ng,h\n",
      [
        .record(line: 1, ["a", "b"]), .problem(.unterminatedQuote, line: 2, column: 3),
        .record(line: 3, ["e", "f"]), .record(line: 4, ["g", "h"]),
      ]),
    Trap("a quote at the very end", "a,\"", [.problem(.unterminatedQuote, line: 1, column: 3)]),
    Trap(
      "a quote that opens on the second line of a record costs both",
      "\"a\nb\",\"c\nd,e\n",
      [.problem(.unterminatedQuote, line: 2, column: 4), .record(line: 3, ["d", "e"])]),
    Trap(
      "bytes after a closing quote", "\"a\"b,c\nd,e\n",
      [.problem(.bytesAfterQuote, line: 1, column: 4), .record(line: 2, ["d", "e"])]),
    Trap(
      "a blank after a closing quote", "\"a\" ,b\r\nc\r\n",
      [.problem(.bytesAfterQuote, line: 1, column: 4), .record(line: 2, ["c"])]),
    Trap(
      "a forgotten quote that a later one seems to close", "1,\"a\n2,b\n3,\"c\"\n4,d\n",
      [
        .problem(.bytesAfterQuote, line: 3, column: 4), .record(line: 2, ["2", "b"]),
        .record(line: 3, ["3", "c"]), .record(line: 4, ["4", "d"]),
      ]),
    Trap(
      "a byte that cannot begin a character", Array("ab,".utf8) + [0xFF] + Array("\nc\n".utf8),
      [.problem(.invalidUTF8, line: 1, column: 4), .record(line: 2, ["c"])]),
    Trap(
      "a character cut short by the line's end", [0x61, 0xE2, 0x82, 0x0A, 0x62],
      [.problem(.invalidUTF8, line: 1, column: 2), .record(line: 2, ["b"])]),
    Trap(
      "a character written too long", [0x61, 0x2C, 0xC0, 0xAF, 0x0A],
      [.problem(.invalidUTF8, line: 1, column: 3)]),
    Trap(
      "half of a surrogate pair", [0xED, 0xA0, 0x80, 0x0A],
      [.problem(.invalidUTF8, line: 1, column: 1)]),
    Trap(
      "beyond the last character", [0xF4, 0x90, 0x80, 0x80, 0x0A],
      [.problem(.invalidUTF8, line: 1, column: 1)]),
    Trap(
      "a bad byte on the second line of a quoted field",
      Array("\"a\r\nbc".utf8) + [0x80] + Array("\",d\r\ne\r\n".utf8),
      [.problem(.invalidUTF8, line: 2, column: 3), .record(line: 3, ["e"])]),
    Trap(
      "a record longer than the limit", String(repeating: "x", count: 130) + "\nb\n",
      [.problem(.recordTooLong, line: 1, column: 1), .record(line: 2, ["b"])]),
    Trap(
      "a line far longer than the window, at the end",
      "a\n" + String(repeating: "x", count: 1_000),
      [.record(line: 1, ["a"]), .problem(.recordTooLong, line: 2, column: 1)]),
    Trap(
      "a quote not closed within the limit", "a,\"b\n" + String(repeating: "c\n", count: 60),
      [.problem(.unterminatedQuote, line: 1, column: 3)]
        + (2...61).map { .record(line: $0, ["c"]) }),
    Trap(
      "a quote on a line longer than the window",
      "\"" + String(repeating: "x", count: 500) + "\r\nb\r\n",
      [.problem(.unterminatedQuote, line: 1, column: 1), .record(line: 2, ["b"])]),
  ]

  @Test("reads what it should, wherever the pieces end", arguments: wellFormed + malformed)
  func traps(trap: Trap) throws {
    for size in 1...max(1, min(trap.input.count, 12)) {
      let reading = try Reading(trap.input, pieces: size)
      #expect(reading.items == trap.items, "in pieces of \(size)")
      #expect(reading.blankLines == trap.blankLines, "in pieces of \(size)")
      #expect(reading.offset == trap.input.count, "in pieces of \(size)")
    }
    let whole = try Reading(trap.input, pieces: .max, pieceSize: 4_096)
    #expect(whole.items == trap.items)
  }

  @Test(
    "reads what it should with the first piece ending at each byte",
    arguments: wellFormed + malformed)
  func everySplit(trap: Trap) throws {
    for split in 1...max(1, trap.input.count) {
      var isFirst = true
      func size() -> Int {
        defer { isFirst = false }
        return isFirst ? split : .max
      }
      let reading = try Reading(trap.input, pieces: size(), pieceSize: 4_096)
      #expect(reading.items == trap.items, "first piece of \(split)")
    }
  }

  @Test("a record of exactly the limit is read, one byte more is not")
  func limit() throws {
    let fits = String(repeating: "x", count: 99) + "\n"
    #expect(try Reading(Array(fits.utf8), pieces: 1).items.count == 1)
    #expect(try Reading(Array(fits.utf8), pieces: 1).problems.isEmpty)
    let tooLong = try Reading(Array(("x" + fits).utf8), pieces: 1)
    #expect(tooLong.items == [.problem(.recordTooLong, line: 1, column: 1)])
  }

  @Test("what a writer wrote comes back", arguments: 1...20 as ClosedRange<UInt64>)
  func roundTrip(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let alphabet = ["a", "b", ",", "\"", "\n", "\r", "\r\n", " ", "é", "日", "🚋", ""]
    var records: [[String]] = []
    var text = Bool.random(using: &random) ? "\u{FEFF}" : ""
    for _ in 0..<50 {
      let fields = (0..<Int.random(in: 2...5, using: &random)).map { _ in
        (0..<Int.random(in: 0...6, using: &random))
          .map { _ in alphabet.randomElement(using: &random)! }.joined()
      }
      records.append(fields)
      let written = fields.map { field in
        let mustQuote = field.utf8.contains { ",\"\r\n".utf8.contains($0) }
        if !mustQuote && Bool.random(using: &random) { return field }
        return "\"" + field.replacing("\"", with: "\"\"") + "\""
      }
      text += written.joined(separator: ",") + ["\n", "\r\n"].randomElement(using: &random)!
    }
    // A "\r" followed by a "\n" of another field is one Character; bytes do not care.
    let reading = try Reading(
      Array(text.utf8), pieces: Int.random(in: 1...20, using: &random), recordLimit: 1_000)
    #expect(reading.problems.isEmpty)
    #expect(
      reading.records.map { $0.map { Array($0.utf8) } } == records.map { $0.map { Array($0.utf8) } }
    )
  }

  @Test(
    "any bytes at all are read to the end, alike in any pieces",
    arguments: 1...60 as ClosedRange<UInt64>)
  func fuzz(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let likely: [UInt8] = [0x22, 0x22, 0x2C, 0x0A, 0x0D, 0x20, 0x61, 0x62, 0xC3, 0xA4, 0xFF, 0x00]
    let bytes = (0..<600).map { _ in
      Int.random(in: 0..<20, using: &random) == 0
        ? UInt8.random(in: 0...255, using: &random) : likely.randomElement(using: &random)!
    }
    let whole = try Reading(bytes, pieces: .max, pieceSize: 4_096)
    #expect(whole.offset == bytes.count)
    for size in 1...5 {
      #expect(try Reading(bytes, pieces: size) == whole, "in pieces of \(size)")
    }
  }

  @Test("UTF-8 is judged as its definition says", arguments: [1, 2, 3] as [UInt64])
  func utf8(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let likely: [UInt8] = [
      0x61, 0x80, 0xBF, 0xC1, 0xC2, 0xDF, 0xE0, 0xA0, 0xED, 0x9F, 0xF0, 0x90, 0xF4, 0x8F, 0xF5,
    ]
    for _ in 0..<3_000 {
      let bytes = (0..<6).map { _ in likely.randomElement(using: &random)! }
      #expect(UTF8Check.firstInvalidByte(of: bytes[...]) == firstInvalidByte(bytes), "\(bytes)")
    }
  }

  /// The table of well-formed byte sequences, written out (Unicode, table 3-7).
  private func firstInvalidByte(_ bytes: [UInt8]) -> Int? {
    var index = 0
    while index < bytes.count {
      let tail: [ClosedRange<UInt8>]
      switch bytes[index] {
      case 0x00...0x7F: tail = []
      case 0xC2...0xDF: tail = [0x80...0xBF]
      case 0xE0: tail = [0xA0...0xBF, 0x80...0xBF]
      case 0xE1...0xEC, 0xEE...0xEF: tail = [0x80...0xBF, 0x80...0xBF]
      case 0xED: tail = [0x80...0x9F, 0x80...0xBF]
      case 0xF0: tail = [0x90...0xBF, 0x80...0xBF, 0x80...0xBF]
      case 0xF1...0xF3: tail = [0x80...0xBF, 0x80...0xBF, 0x80...0xBF]
      case 0xF4: tail = [0x80...0x8F, 0x80...0xBF, 0x80...0xBF]
      default: return index
      }
      for (offset, range) in tail.enumerated() {
        let at = index + 1 + offset
        if at >= bytes.count || !range.contains(bytes[at]) { return index }
      }
      index += 1 + tail.count
    }
    return nil
  }
}
