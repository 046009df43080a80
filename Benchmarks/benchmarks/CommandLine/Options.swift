import BenchmarkSupport

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
  var format = Format.table
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
    try checkCombination(seen)
  }

  private enum Kind: String, CaseIterable {
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
      case .format: Format.allCases.map(\.rawValue).joined(separator: ", ")
      case .save, .report: "the name of a file that can be written"
      case .compare, .gate: "the name of a file that can be read"
      case .native: "a folder that Benchmarks/native/build.sh has filled"
      case .list, .help, .smoke, .quick, .scale: "no value"
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
    case .quick: isQuick = true
    case .scale: scales = true
    case .filter, .samples, .format, .threads, .save, .compare, .threshold, .gate, .report,
      .native:
      break
    }
  }

  private mutating func apply(_ kind: Kind, _ value: String) throws(UsageError) {
    let refusal = UsageError(option: kind.rawValue, value: value, allowed: kind.allowedValues)
    if value.isEmpty { throw refusal }
    switch kind {
    case .filter:
      guard (try? Regex(value)) != nil else { throw refusal }
      filter = value
    case .samples:
      guard let number = Self.number(value), Self.allowedSamples.contains(number) else {
        throw refusal
      }
      samples = number
    case .threads:
      let numbers = value.split(separator: ",", omittingEmptySubsequences: false).map {
        Self.number(String($0))
      }
      let known = numbers.compactMap(\.self).filter(Self.allowedThreads.contains)
      guard known.count == numbers.count, Set(known).count == known.count else { throw refusal }
      threads = known
    case .threshold:
      guard let number = Double(value), Self.allowedThresholds.contains(number) else {
        throw refusal
      }
      threshold = number
    case .format:
      guard let known = Format(rawValue: value) else { throw refusal }
      format = known
    case .save: save = value
    case .compare: compare = value
    case .gate: gate = value
    case .report: report = value
    case .native: native = value
    case .list, .help, .smoke, .quick, .scale: break
    }
  }

  /// A number of digits only: `Int("+5")` is 5.
  private static func number(_ text: String) -> Int? {
    text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int(text) : nil
  }

  private func checkCombination(_ seen: Set<String>) throws(UsageError) {
    for (one, others) in [
      (Kind.scale, [Kind.gate, .compare, .save]), (.gate, [.compare, .threads]),
    ] where seen.contains(one.rawValue) {
      for other in others where seen.contains(other.rawValue) {
        throw UsageError(
          option: one.rawValue, value: other.rawValue,
          allowed: "one of the two, not both in one run")
      }
    }
    if seen.contains(Kind.threshold.rawValue), compare == nil {
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
