import TestSupport
import Testing

@testable import guide

@Suite("Printable", .endsInTime)
struct PrintableTests {
  @Test("what moves the cursor, recolours or turns text round is written out")
  func escaped() {
    #expect("\(Printable("a\u{1B}[31m"))" == #""a\u{1B}[31m""#)
    #expect("\(Printable("txt.\u{202E}exe"))" == #""txt.\u{202E}exe""#)
    #expect("\(Printable("a\u{2028}b\u{2029}c\u{FEFF}"))" == #""a\u{2028}b\u{2029}c\u{FEFF}""#)
    #expect("\(Printable("say \"a\""))" == #""say \"a\"""#)
    // A joiner of Persian letters does nothing else.
    let persian = "\u{0645}\u{06CC}\u{200C}\u{062E}"
    #expect("\(Printable(persian))" == "\"\(persian)\"")
  }

  @Test("long text is cut, also text of one endless character")
  func cut() {
    #expect("\(Printable(String(repeating: "x", count: 41)))".count == 45)
    #expect(Printable.plain(String(repeating: "x", count: 41), width: 10) == "xxxxxxxxx…")
    let tower = "a" + String(repeating: "\u{301}", count: 60_000)
    #expect(Printable.plain(tower, width: 10).unicodeScalars.count <= 40)
    #expect(Printable.plain("a\u{202E}b\u{1B}c\nd", width: 10) == "a b c d")
  }
}
