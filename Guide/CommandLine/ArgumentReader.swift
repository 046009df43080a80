/// Takes a command's arguments apart: options, which begin with `--`, and the rest.
///
/// An option's value may follow it or be joined with `=`. Behind a bare `--` nothing is an option.
struct ArgumentReader {
  private var rest: ArraySlice<String>
  private let command: String
  private let options: [OptionSyntax]
  private var optionsEnded = false

  /// One option that a command takes.
  struct OptionSyntax {
    let name: String

    /// What its value is called in the help; nil if it takes none.
    let value: String?
    let meaning: String
  }

  /// What stands next.
  enum Argument: Equatable {
    case option(String, value: String)
    case flag(String)
    case word(String)
  }

  /// A reader of the arguments of `command`.
  init(_ arguments: some Sequence<String>, of command: String, options: [OptionSyntax]) {
    rest = Array(arguments)[...]
    self.command = command
    self.options = options
  }

  /// The next argument; nil at the end.
  ///
  /// - Throws: `UsageError` for an option that the command does not take, or takes otherwise.
  mutating func next() throws(UsageError) -> Argument? {
    guard let text = rest.popFirst() else { return nil }
    if optionsEnded || !text.hasPrefix("-") || text == "-" { return .word(text) }
    if text == "--" {
      optionsEnded = true
      return try next()
    }
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let name = String(parts[0])
    guard let option = options.first(where: { $0.name == name }) else {
      throw UsageError("unknown option \(Printable(name)); \(command) takes \(optionList)")
    }
    guard let valueName = option.value else {
      if parts.count > 1 {
        throw UsageError("\(name) takes no value, but was given one: \(Printable(text))")
      }
      return .flag(name)
    }
    if parts.count > 1 { return .option(name, value: String(parts[1])) }
    guard let value = rest.popFirst() else {
      throw UsageError("\(name) needs a value: \(name) \(valueName)")
    }
    // A value that was forgotten shall not swallow the next option.
    if options.contains(where: { value == $0.name || value.hasPrefix($0.name + "=") }) {
      throw UsageError(
        "\(name) needs a value, and \(Printable(value)) is an option; "
          + "a file of that name is given as \(name)=...")
    }
    return .option(name, value: value)
  }

  private var optionList: String {
    options.map { $0.value == nil ? $0.name : "\($0.name) \($0.value!)" }.joined(separator: ", ")
  }
}
