/// What the command line asks for.
struct Options: Equatable {
  enum Format: String, CaseIterable {
    case table
    case tsv
    case json
  }

  /// Where the threads run.
  enum Placement: String, CaseIterable {
    /// Where the scheduler puts them.
    case free
    /// All on one processor.
    case one
  }

  static let allowedThreads = 1...64
  static let allowedNanoseconds = 0...1_000_000
  static let allowedSeconds = 0.02...600
  static let allowedSlice = 5...1_000

  var threads = [2, 4, 8]
  /// Nanoseconds of work with the lock held, and without it.
  var inside = 20
  var outside = 50
  /// Seconds for each lock at each number of threads.
  var seconds = 2.0
  /// Milliseconds of a slice.
  var slice = 50
  var locks = Entrant.all.map(\.name)
  var placement = Placement.free
  var format = Format.table
  var wantsHelp = false

  /// Slices of each lock at each number of threads: half are timed turn by turn, half are not.
  var slices: Int { max(2, Int(seconds * 1_000) / slice) }
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
  /// Reads the arguments that follow the program's name. A value follows its option as the next
  /// argument or after an equals sign.
  ///
  /// - Throws: an error for the first argument that is not an option, the first value that is out
  ///   of range or missing, and an option that is given twice.
  init(_ arguments: [String]) throws(UsageError) {
    var rest = arguments[...]
    var seen: Set<Kind> = []
    while let argument = rest.popFirst() {
      let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let option = String(parts.first ?? "")
      guard let kind = Kind(rawValue: option == "-h" ? "--help" : option) else {
        throw UsageError(
          option: "argument", value: argument,
          allowed: Kind.allCases.map(\.rawValue).joined(separator: ", "))
      }
      guard seen.insert(kind).inserted else {
        throw UsageError(option: option, value: argument, allowed: "to give the option once")
      }
      let inlineValue = parts.count == 2 ? String(parts[1]) : nil
      if kind == .help {
        if let inlineValue {
          throw UsageError(option: option, value: inlineValue, allowed: kind.allowed)
        }
        wantsHelp = true
        continue
      }
      guard let value = inlineValue ?? rest.popFirst() else {
        throw UsageError(option: option, value: nil, allowed: kind.allowed)
      }
      guard apply(kind, value) else {
        throw UsageError(option: option, value: value, allowed: kind.allowed)
      }
    }
  }

  private enum Kind: String, CaseIterable {
    case threads = "--threads"
    case inside = "--inside"
    case outside = "--outside"
    case seconds = "--seconds"
    case slice = "--slice"
    case locks = "--locks"
    case placement = "--placement"
    case format = "--format"
    case help = "--help"

    var allowed: String {
      switch self {
      case .threads:
        "whole numbers from \(allowedThreads.lowerBound) to \(allowedThreads.upperBound), "
          + "separated by commas"
      case .inside, .outside:
        "a whole number of nanoseconds from \(allowedNanoseconds.lowerBound) to "
          + "\(allowedNanoseconds.upperBound)"
      case .seconds: "a number from \(allowedSeconds.lowerBound) to \(allowedSeconds.upperBound)"
      case .slice:
        "a whole number of milliseconds from \(allowedSlice.lowerBound) to "
          + "\(allowedSlice.upperBound)"
      case .locks:
        "names separated by commas, of " + Entrant.all.map(\.name).joined(separator: ", ")
      case .placement: Placement.allCases.map(\.rawValue).joined(separator: ", ")
      case .format: Format.allCases.map(\.rawValue).joined(separator: ", ")
      case .help: "no value"
      }
    }
  }

  /// - Returns: Whether the value is allowed.
  private mutating func apply(_ kind: Kind, _ value: String) -> Bool {
    switch kind {
    case .threads:
      let numbers = Self.list(value).map { Self.number($0, in: Self.allowedThreads) }
      threads = numbers.compactMap { $0 }
      return threads.count == numbers.count
    case .inside: return Self.set(&inside, Self.number(value, in: Self.allowedNanoseconds))
    case .outside: return Self.set(&outside, Self.number(value, in: Self.allowedNanoseconds))
    case .slice: return Self.set(&slice, Self.number(value, in: Self.allowedSlice))
    case .seconds:
      let isPlain = value.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == 0x2E }
      guard isPlain, let number = Double(value), Self.allowedSeconds.contains(number) else {
        return false
      }
      seconds = number
      return true
    case .locks:
      locks = Self.list(value)
      return locks.allSatisfy { name in Entrant.all.contains { $0.name == name } }
    case .placement: return Self.set(&placement, Placement(rawValue: value))
    case .format: return Self.set(&format, Format(rawValue: value))
    case .help: return false
    }
  }

  private static func set<Value>(_ place: inout Value, _ value: Value?) -> Bool {
    guard let value else { return false }
    place = value
    return true
  }

  private static func list(_ value: String) -> [String] {
    value.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
  }

  private static func number(_ value: String, in range: ClosedRange<Int>) -> Int? {
    // Int("+5") is 5: only digits are taken.
    guard value.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(value),
      range.contains(number)
    else { return nil }
    return number
  }
}
