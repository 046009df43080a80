/// A command line that cannot be followed: which option, which value, and what is allowed.
struct UsageError: Error, Equatable, CustomStringConvertible {
  let option: String
  let value: String?
  let allowed: String

  var description: String {
    guard let value else { return "\(option): no value given; allowed is \(allowed)" }
    return "\(option): \"\(value)\" is refused; allowed is \(allowed)"
  }
}
