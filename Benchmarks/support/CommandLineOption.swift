/// An option of a program's command line; its raw value is what is written, with the dashes.
package protocol CommandLineOption: RawRepresentable<String>, CaseIterable, Hashable {
  /// Whether a value follows, as the next argument or after an equals sign.
  var takesValue: Bool { get }
  /// What the value may be, for the message that refuses another.
  var allowedValues: String { get }
  /// Whether messages name it among the options that there are.
  var isShown: Bool { get }
}

extension CommandLineOption {
  package var isShown: Bool { true }

  /// Reads the arguments that follow the program's name; `-h` stands for `--help`.
  ///
  /// - Parameters:
  ///   - arguments: What follows the program's name.
  ///   - apply: Called for each option in turn, with its value if it takes one; returns whether the
  ///     value is allowed.
  /// - Returns: the options that were given.
  /// - Throws: an error for the first argument that is no option, the first value that is missing,
  ///   refused or not wanted, and an option that is given twice.
  @discardableResult
  package static func read(
    _ arguments: [String], apply: (Self, String?) -> Bool
  ) throws(UsageError) -> Set<Self> {
    var rest = arguments[...]
    var given: Set<Self> = []
    while let argument = rest.popFirst() {
      let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        .map(String.init)
      let name = parts.first ?? ""
      guard let option = Self(rawValue: name == "-h" ? "--help" : name) else {
        let shown = allCases.filter(\.isShown).map(\.rawValue)
        throw UsageError(
          option: "argument", value: argument, allowed: shown.joined(separator: ", "))
      }
      guard given.insert(option).inserted else {
        throw UsageError(option: name, value: argument, allowed: "to give the option once")
      }
      let inlineValue = parts.count == 2 ? parts[1] : nil
      if !option.takesValue, let inlineValue {
        throw UsageError(option: name, value: inlineValue, allowed: option.allowedValues)
      }
      // What begins with dashes is the next option, unless it stands behind an equals sign.
      let isNext = rest.first?.hasPrefix("--") == true
      let value = option.takesValue ? inlineValue ?? (isNext ? nil : rest.popFirst()) : nil
      if option.takesValue, value == nil {
        throw UsageError(option: name, value: nil, allowed: option.allowedValues)
      }
      guard apply(option, value) else {
        throw UsageError(option: name, value: value, allowed: option.allowedValues)
      }
    }
    return given
  }
}
