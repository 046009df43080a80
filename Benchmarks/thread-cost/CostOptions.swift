import BenchmarkSupport

/// What the command line asks for.
struct CostOptions: Equatable {
  static let allowedThreads = 10...20_000
  static let allowedSamples = 1...1_000

  /// How many threads are parked to see what one of them holds.
  var threads = 500
  var samples = 21
  var format = OutputFormat.table
  var wantsHelp = false

  /// Reads the arguments that follow the program's name.
  ///
  /// - Throws: an error for the first argument that cannot be followed.
  init(_ arguments: [String]) throws(UsageError) {
    var read = Self()
    try Kind.read(arguments) { read.apply($0, $1 ?? "") }
    self = read
  }

  private init() {}

  private enum Kind: String, CommandLineOption {
    case threads = "--threads"
    case samples = "--samples"
    case format = "--format"
    case help = "--help"

    var takesValue: Bool { self != .help }

    var allowedValues: String {
      switch self {
      case .threads:
        "a whole number from \(allowedThreads.lowerBound) to \(allowedThreads.upperBound)"
      case .samples:
        "a whole number from \(allowedSamples.lowerBound) to \(allowedSamples.upperBound)"
      case .format: OutputFormat.names
      case .help: "no value"
      }
    }
  }

  /// - Returns: whether the value is allowed.
  private mutating func apply(_ kind: Kind, _ value: String) -> Bool {
    switch kind {
    case .threads:
      OptionValues.set(&threads, OptionValues.number(value, in: Self.allowedThreads))
    case .samples:
      OptionValues.set(&samples, OptionValues.number(value, in: Self.allowedSamples))
    case .format: OptionValues.set(&format, OutputFormat(rawValue: value))
    case .help: OptionValues.set(&wantsHelp, true)
    }
  }

  static let help = """
    Tells what a thread costs on this machine: memory, starting, ending, switching.

    USAGE: thread-cost [--threads N] [--samples N] [--format table|tsv|json]

    OPTIONS:
      --threads N      Threads that are parked to see what each holds, \
    \(allowedThreads.lowerBound) to \(allowedThreads.upperBound); \
    500 if not given.
      --samples N      Samples of each time, \(allowedSamples.lowerBound) to \
    \(allowedSamples.upperBound); 21 if not given.
      --format FORMAT  table (for people; the default), tsv or json.
      --help           Print this text.

    COLUMNS:
      pthread            pthread_create and nothing else
      PosixThread        this package
      FoundationThread   this package, over Foundation
      Foundation         Foundation.Thread, which has no join: a semaphore stands for it
      Dispatch           a block on a global queue, whose threads Dispatch starts and keeps as it likes

    EXIT STATUS: 0; 64 for a command line that cannot be followed; 74 when the system refuses a thread,
    or standard output cannot be written.

    """
}
