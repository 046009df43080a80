/// A command line that cannot be followed: which option, which value, and what is allowed.
package struct UsageError: Error, Equatable, CustomStringConvertible {
  package let option: String
  package let value: String?
  package let allowed: String

  package init(option: String, value: String?, allowed: String) {
    self.option = option
    self.value = value
    self.allowed = allowed
  }

  package var description: String {
    guard let value else { return "\(option): no value given; allowed is \(allowed)" }
    return "\(option): \"\(value)\" is refused; allowed is \(allowed)"
  }
}
