/// What there is to find out about a file: how many lines it has, and what the numbers at their beginnings
/// add up to.
struct Tally: Equatable, Sendable {
  var lines = 0
  var total = 0

  init() {}

  /// Of whole lines.
  init(_ batch: [UInt8]) {
    var number = 0
    var isNumber = true
    let bytes = batch.span
    for index in bytes.indices {
      switch bytes[index] {
      case UInt8(ascii: "\n"):
        lines += 1
        total += number
        number = 0
        isNumber = true
      case let digit where isNumber && (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit):
        number = number * 10 + Int(digit - UInt8(ascii: "0"))
      default:
        isNumber = false
      }
    }
  }

  mutating func add(_ other: Tally) {
    lines += other.lines
    total += other.total
  }
}
