/// What the command line asks for.
struct Options: Equatable {
  enum Action: Equatable {
    case run
    case list
    case help
  }

  enum Format: String, CaseIterable {
    case table
    case tsv
    case json
  }

  /// How many samples `--samples` accepts.
  static let allowedSamples = 1...1_000

  var action = Action.run
  /// A regular expression that workload names are searched for; nil takes all workloads.
  var filter: String?
  var samples = 15
  var format = Format.table
  /// Smallest batches and one sample: shows that the workloads work, not how fast they are.
  var isSmoke = false
}

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

extension Options {
  /// Reads the arguments that follow the program's name.
  ///
  /// A value follows its option as the next argument or after an equals sign.
  ///
  /// - Throws: an error for the first argument that is not an option, the first value that is out
  ///   of range or missing, and an option that is given twice.
  init(_ arguments: [String]) throws(UsageError) {
    var rest = arguments[...]
    var seen: Set<String> = []
    while let argument = rest.popFirst() {
      let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let option = String(parts.first ?? "")
      let inlineValue = parts.count == 2 ? String(parts[1]) : nil
      guard let kind = Kind(rawValue: option == "-h" ? "--help" : option) else {
        throw UsageError(option: "argument", value: argument, allowed: Kind.all)
      }
      guard seen.insert(kind.rawValue).inserted else {
        throw UsageError(option: option, value: argument, allowed: "to give the option once")
      }
      guard kind.takesValue else {
        if let inlineValue {
          throw UsageError(option: option, value: inlineValue, allowed: "no value")
        }
        apply(flag: kind)
        continue
      }
      guard let value = inlineValue ?? rest.popFirst() else {
        throw UsageError(option: option, value: nil, allowed: kind.allowedValues)
      }
      try apply(kind, value)
    }
  }

  private enum Kind: String, CaseIterable {
    case list = "--list"
    case filter = "--filter"
    case samples = "--samples"
    case format = "--format"
    case help = "--help"
    case smoke = "--smoke"

    var takesValue: Bool {
      switch self {
      case .filter, .samples, .format: true
      case .list, .help, .smoke: false
      }
    }

    var allowedValues: String {
      switch self {
      case .filter: "a regular expression"
      case .samples:
        "a whole number from \(allowedSamples.lowerBound) to \(allowedSamples.upperBound)"
      case .format: Format.allCases.map(\.rawValue).joined(separator: ", ")
      case .list, .help, .smoke: "no value"
      }
    }

    /// The options that the help names.
    static var all: String {
      allCases.filter { $0 != .smoke }.map(\.rawValue).joined(separator: ", ")
    }
  }

  private mutating func apply(flag: Kind) {
    switch flag {
    case .list: if action != .help { action = .list }
    case .help: action = .help
    case .smoke: isSmoke = true
    case .filter, .samples, .format: break
    }
  }

  private mutating func apply(_ kind: Kind, _ value: String) throws(UsageError) {
    let refusal = UsageError(option: kind.rawValue, value: value, allowed: kind.allowedValues)
    switch kind {
    case .filter:
      guard (try? Regex(value)) != nil else { throw refusal }
      filter = value
    case .samples:
      // Int("+5") is 5: only digits are taken.
      guard value.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(value),
        Self.allowedSamples.contains(number)
      else { throw refusal }
      samples = number
    case .format:
      guard let known = Format(rawValue: value) else { throw refusal }
      format = known
    case .list, .help, .smoke: break
    }
  }
}
