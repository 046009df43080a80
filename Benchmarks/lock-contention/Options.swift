import BenchmarkSupport

/// What the command line asks for.
struct Options: Equatable {
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
  /// Names of locks; nil for all.
  var locks: [String]?
  var placement = Placement.free
  /// A folder with plug-ins; nil for the usual one, which may be empty.
  var native: String?
  var format = OutputFormat.table
  var wantsHelp = false

  /// Slices of each lock at each number of threads: half are timed turn by turn, half are not.
  var slices: Int { max(2, Int(seconds * 1_000) / slice) }
}

extension Options {
  /// Reads the arguments that follow the program's name. A value follows its option as the next
  /// argument or after an equals sign.
  ///
  /// - Throws: an error for the first argument that is not an option, the first value that is out
  ///   of range or missing, and an option that is given twice.
  init(_ arguments: [String]) throws(UsageError) {
    var read = Self()
    try Kind.read(arguments) { read.apply($0, $1 ?? "") }
    self = read
  }

  private enum Kind: String, CommandLineOption {
    case threads = "--threads"
    case inside = "--inside"
    case outside = "--outside"
    case seconds = "--seconds"
    case slice = "--slice"
    case locks = "--locks"
    case placement = "--placement"
    case native = "--native"
    case format = "--format"
    case help = "--help"

    var takesValue: Bool { self != .help }

    var allowedValues: String {
      switch self {
      case .threads:
        "whole numbers from \(allowedThreads.lowerBound) to \(allowedThreads.upperBound), "
          + "each once, with commas between them"
      case .inside, .outside:
        "a whole number of nanoseconds from \(allowedNanoseconds.lowerBound) to "
          + "\(allowedNanoseconds.upperBound)"
      case .seconds: "a number from \(allowedSeconds.lowerBound) to \(allowedSeconds.upperBound)"
      case .slice:
        "a whole number of milliseconds from \(allowedSlice.lowerBound) to "
          + "\(allowedSlice.upperBound)"
      case .locks: "names with commas between them, each once"
      case .placement: Placement.allCases.map(\.rawValue).joined(separator: ", ")
      case .native: "a folder with plug-ins, as Benchmarks/native/build.sh makes it"
      case .format: OutputFormat.names
      case .help: "no value"
      }
    }
  }

  /// - Returns: Whether the value is allowed.
  private mutating func apply(_ kind: Kind, _ value: String) -> Bool {
    switch kind {
    case .threads: OptionValues.set(&threads, OptionValues.numbers(value, in: Self.allowedThreads))
    case .inside: OptionValues.set(&inside, OptionValues.number(value, in: Self.allowedNanoseconds))
    case .outside:
      OptionValues.set(&outside, OptionValues.number(value, in: Self.allowedNanoseconds))
    case .slice: OptionValues.set(&slice, OptionValues.number(value, in: Self.allowedSlice))
    case .seconds: OptionValues.set(&seconds, OptionValues.number(value, in: Self.allowedSeconds))
    case .locks: OptionValues.set(&locks, Self.different(OptionValues.list(value)))
    case .placement: OptionValues.set(&placement, Placement(rawValue: value))
    case .native: OptionValues.set(&native, value.isEmpty ? nil : value)
    case .format: OptionValues.set(&format, OutputFormat(rawValue: value))
    case .help: OptionValues.set(&wantsHelp, true)
    }
  }

  /// The names, if each is there once. Which there are, the plug-ins tell.
  private static func different(_ names: [String]) -> [String]? {
    Set(names).count == names.count ? names : nil
  }
}
