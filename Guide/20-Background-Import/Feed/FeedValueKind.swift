/// What the values of a column are, and how they are read from text.
enum FeedValueKind: Equatable, Sendable {
  case text
  case integer(ClosedRange<Int64>)
  case decimal(ClosedRange<Double>)

  /// Seconds since midnight of the service day, written `H:MM:SS`. A trip that runs past midnight
  /// goes on counting: 25:10:00 is ten past one of the next morning.
  case time

  /// A date written `YYYYMMDD`, kept as that number.
  case date

  /// What a value must be, for the message when it is not.
  var expectation: String {
    switch self {
    case .text: "text"
    case .integer(let range): "a whole number in \(range.lowerBound)...\(range.upperBound)"
    case .decimal(let range) where range.upperBound == .greatestFiniteMagnitude:
      "a number of at least \(range.lowerBound)"
    case .decimal(let range): "a number in \(range.lowerBound)...\(range.upperBound)"
    case .time: "a time such as 8:05:00 or 25:10:00"
    case .date: "a date such as 20260131"
    }
  }

  /// Reads a value.
  ///
  /// - Parameters:
  ///   - bytes: where the text is.
  ///   - range: which bytes of it. Blanks around numbers, times and dates do not count.
  /// - Returns: the value; nil if the text is none of this kind.
  func value(of bytes: [UInt8], in range: Range<Int>) -> FeedValue? {
    if case .text = self { return range.isEmpty ? .null : .text(range) }
    let text = Self.trimmed(bytes[range])
    if text.isEmpty { return .null }
    switch self {
    case .text:
      return .text(range)
    case .integer(let allowed):
      guard let number = Self.integer(text), allowed.contains(number) else { return nil }
      return .integer(number)
    case .decimal(let allowed):
      guard let number = Self.decimal(text), allowed.contains(number) else { return nil }
      return .decimal(number)
    case .time:
      return Self.time(text).map(FeedValue.integer)
    case .date:
      return Self.date(text).map(FeedValue.integer)
    }
  }
}

extension FeedValueKind {
  private static func trimmed(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var text = text
    while let first = text.first, first == .space || first == .tab { text.removeFirst() }
    while let last = text.last, last == .space || last == .tab { text.removeLast() }
    return text
  }

  private static func digits(_ text: ArraySlice<UInt8>) -> Int64? {
    guard (1...18).contains(text.count) else { return nil }
    var number: Int64 = 0
    for byte in text {
      guard isDigit(byte) else { return nil }
      number = number * 10 + Int64(byte - UInt8(ascii: "0"))
    }
    return number
  }

  private static func integer(_ text: ArraySlice<UInt8>) -> Int64? {
    guard text.first == UInt8(ascii: "-") else { return digits(text) }
    return digits(text.dropFirst()).map { -$0 }
  }

  private static func decimal(_ text: ArraySlice<UInt8>) -> Double? {
    // `Double` also reads "nan", "inf" and hexadecimal, which no feed means.
    let isPlain = text.allSatisfy { isDigit($0) || "+-.eE".utf8.contains($0) }
    return isPlain ? Double(String(decoding: text, as: UTF8.self)) : nil
  }

  /// Hours may have one to three digits, minutes and seconds have two.
  private static func time(_ text: ArraySlice<UInt8>) -> Int64? {
    let colon = UInt8(ascii: ":")
    guard text.count >= 7, text[text.endIndex - 3] == colon, text[text.endIndex - 6] == colon else {
      return nil
    }
    let hourText = text[..<(text.endIndex - 6)]
    guard hourText.count <= 3, let hours = digits(hourText),
      let minutes = digits(text[(text.endIndex - 5)..<(text.endIndex - 3)]), minutes < 60,
      let seconds = digits(text[(text.endIndex - 2)...]), seconds < 60
    else { return nil }
    return (hours * 60 + minutes) * 60 + seconds
  }

  private static func date(_ text: ArraySlice<UInt8>) -> Int64? {
    guard text.count == 8, let number = digits(text) else { return nil }
    let year = number / 10_000
    let month = number / 100 % 100
    let day = number % 100
    guard (1...12).contains(month), day >= 1, day <= lastDay(of: month, in: year) else {
      return nil
    }
    return number
  }

  private static func lastDay(of month: Int64, in year: Int64) -> Int64 {
    switch month {
    case 2: (year % 4 == 0 && year % 100 != 0) || year % 400 == 0 ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }
}
