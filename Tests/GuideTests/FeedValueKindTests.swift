import TestSupport
import Testing

@testable import guide

@Suite("FeedValueKind", .endsInTime)
struct FeedValueKindTests {
  private func value(_ kind: FeedValueKind, _ text: String) -> FeedValue? {
    // Bytes before and after must not matter.
    let bytes = Array("9\(text)9".utf8)
    return kind.value(of: bytes, in: 1..<(bytes.count - 1))
  }

  @Test(
    "times are seconds of the service day",
    arguments: [
      ("8:05:00", 29_100), ("08:05:00", 29_100), (" 8:05:07 ", 29_107), ("24:00:00", 86_400),
      ("25:10:59", 90_659), ("0:00:00", 0), ("100:00:00", 360_000),
    ])
  func times(text: String, seconds: Int64) {
    #expect(value(.time, text) == .integer(seconds))
  }

  @Test(
    "what is no time is refused",
    arguments: [
      "8:05", "8:5:00", "8:05:0", "8:60:00", "8:05:60", "-1:00:00", "1000:00:00", ":05:00",
      "8.05.00",
      "8:05:00x", "x8:05:00", "８:05:00", "8: 5:00", "8:05:00:00", "080500",
    ])
  func notTimes(text: String) {
    #expect(value(.time, text) == nil)
  }

  @Test("whole numbers keep to their range")
  func integers() {
    let kind = FeedValueKind.integer(-5...7)
    #expect(value(kind, "7") == .integer(7))
    #expect(value(kind, " -5\t") == .integer(-5))
    #expect(value(kind, "007") == .integer(7))
    for text in ["8", "-6", "1.0", "+1", "-", "0x1", "1 2", "99999999999999999999"] {
      #expect(value(kind, text) == nil, "\(text)")
    }
  }

  @Test("numbers with a fraction keep to their range")
  func decimals() {
    let kind = FeedValueKind.decimal(-90...90)
    #expect(value(kind, "36.305654") == .decimal(36.305654))
    #expect(value(kind, " -90 ") == .decimal(-90))
    #expect(value(kind, "+1e1") == .decimal(10))
    #expect(value(kind, ".5") == .decimal(0.5))
    for text in ["90.1", "nan", "inf", "0x1p3", "1,5", "1.2.3", "e", "-", "1e999"] {
      #expect(value(kind, text) == nil, "\(text)")
    }
  }

  @Test("dates are days that there are")
  func dates() {
    #expect(value(.date, "20260131") == .integer(20_260_131))
    #expect(value(.date, "20240229") == .integer(20_240_229))
    #expect(value(.date, "20000229") == .integer(20_000_229))
    for text in [
      "20230229", "19000229", "20260431", "20261301", "20260100", "2026-01-31", "260131",
    ] {
      #expect(value(.date, text) == nil, "\(text)")
    }
  }

  @Test("nothing is a null, for text only if nothing at all is there")
  func empty() {
    for kind in [FeedValueKind.time, .date, .integer(1...2), .decimal(1...2)] {
      #expect(value(kind, "") == .null)
      #expect(value(kind, "  ") == .null)
    }
    #expect(value(.text, "") == .null)
    #expect(value(.text, " ") == .text(1..<2))
  }
}
