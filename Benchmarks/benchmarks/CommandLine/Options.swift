import BenchmarkSupport

/// What the command line asks for.
struct Options: Equatable {
  enum Action: Equatable {
    case run
    case list
    case help
  }

  /// How many samples `--samples` accepts.
  static let allowedSamples = 1...1_000
  /// The factors that `--threshold` accepts.
  static let allowedThresholds = 1.01...100
  /// The numbers of threads that `--threads` accepts.
  static let allowedThreads = 1...256
  /// Samples with `--quick` or `--gate`, unless told otherwise.
  static let quickSamples = 7

  var action = Action.run
  /// A regular expression that workload names are searched for; nil takes all workloads.
  var filter: String?
  /// Samples of each implementation; nil takes what suits the rest.
  var samples: Int?
  var format = OutputFormat.table
  /// Smallest batches and one sample: shows that the workloads work, not how fast they are.
  var isSmoke = false
  /// Short batches and few samples.
  var isQuick = false
  /// Numbers of threads in place of the usual ones, where a workload exists for any number.
  var threads: [Int]?
  /// Measures at growing numbers of items.
  var scales = false
  /// Where to write the figures for a later comparison.
  var save: String?
  /// The file with figures to compare with.
  var compare: String?
  /// The factor above which a comparison is a regression.
  var threshold = 1.3
  /// The file with the ratios that are allowed.
  var gate: String?
  /// Where to write the page.
  var report: String?
  /// The folder of the plug-ins; nil looks in the usual place.
  var native: String?
}

extension Options {
  /// Reads the arguments that follow the program's name.
  ///
  /// A value follows its option as the next argument or after an equals sign.
  ///
  /// - Throws: an error for the first argument that is not an option, the first value that is out
  ///   of range or missing, an option that is given twice, and options that exclude each other.
  init(_ arguments: [String]) throws(UsageError) {
    var read = Self()
    let given = try Kind.read(arguments) { read.apply($0, $1 ?? "") }
    self = read
    try checkCombination(given)
  }

  private enum Kind: String, CommandLineOption {
    case list = "--list"
    case filter = "--filter"
    case samples = "--samples"
    case quick = "--quick"
    case threads = "--threads"
    case scale = "--scale"
    case format = "--format"
    case save = "--save"
    case compare = "--compare"
    case threshold = "--threshold"
    case gate = "--gate"
    case report = "--report"
    case native = "--native"
    case help = "--help"
    case smoke = "--smoke"

    var takesValue: Bool {
      switch self {
      case .list, .help, .smoke, .quick, .scale: false
      case .filter, .samples, .format, .threads, .save, .compare, .threshold, .gate, .report,
        .native:
        true
      }
    }

    var allowedValues: String {
      switch self {
      case .filter: "a regular expression"
      case .samples:
        "a whole number from \(allowedSamples.lowerBound) to \(allowedSamples.upperBound)"
      case .threads:
        "whole numbers from \(allowedThreads.lowerBound) to \(allowedThreads.upperBound), each "
          + "once, with commas between them"
      case .threshold:
        "a number from \(allowedThresholds.lowerBound) to \(Int(allowedThresholds.upperBound))"
      case .format: OutputFormat.names
      case .save, .report: "the name of a file that can be written"
      case .compare, .gate: "the name of a file that can be read"
      case .native: "a folder that Benchmarks/native/build.sh has filled"
      case .list, .help, .smoke, .quick, .scale: "no value"
      }
    }

    /// One is for the project's own checks.
    var isShown: Bool { self != .smoke }
  }

  /// - Returns: whether the value is allowed.
  private mutating func apply(_ kind: Kind, _ value: String) -> Bool {
    if kind.takesValue, value.isEmpty { return false }
    switch kind {
    case .list: if action != .help { action = .list }
    case .help: action = .help
    case .smoke: isSmoke = true
    case .quick: isQuick = true
    case .scale: scales = true
    case .filter:
      guard (try? Regex(value)) != nil else { return false }
      filter = value
    case .samples:
      samples = OptionValues.number(value, in: Self.allowedSamples)
      return samples != nil
    case .threads:
      threads = OptionValues.numbers(value, in: Self.allowedThreads)
      return threads != nil
    case .threshold:
      return OptionValues.set(&threshold, OptionValues.number(value, in: Self.allowedThresholds))
    case .format: return OptionValues.set(&format, OutputFormat(rawValue: value))
    case .save: save = value
    case .compare: compare = value
    case .gate: gate = value
    case .report: report = value
    case .native: native = value
    }
    return true
  }

  private func checkCombination(_ given: Set<Kind>) throws(UsageError) {
    for (one, others) in [
      (Kind.scale, [Kind.gate, .compare, .save]), (.gate, [.compare, .threads]),
    ] where given.contains(one) {
      for other in others where given.contains(other) {
        throw UsageError(
          option: one.rawValue, value: other.rawValue,
          allowed: "one of the two, not both in one run")
      }
    }
    if given.contains(.threshold), compare == nil {
      throw UsageError(
        option: Kind.threshold.rawValue, value: String(threshold), allowed: "only with --compare")
    }
  }

  /// How thoroughly to measure.
  var plan: Plan {
    if isSmoke { return .smoke }
    if isQuick || gate != nil { return .quick(samples: samples ?? Self.quickSamples) }
    return .measuring(samples: samples ?? Self.usualSamples)
  }

  /// Samples unless told otherwise.
  static let usualSamples = 15
}
