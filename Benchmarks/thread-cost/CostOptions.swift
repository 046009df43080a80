import BenchmarkSupport

/// What the command line asks for.
struct CostOptions: Equatable {
  enum Format: String, CaseIterable {
    case table
    case tsv
    case json
  }

  static let allowedThreads = 10...5_000
  static let allowedSamples = 1...1_000

  /// How many threads are parked to see what one of them holds.
  var threads = 500
  var samples = 21
  var format = Format.table
  var wantsHelp = false

  /// Reads the arguments that follow the program's name.
  ///
  /// - Throws: an error for the first argument that cannot be followed.
  init(_ arguments: [String]) throws(UsageError) {
    var rest = arguments[...]
    var seen: Set<String> = []
    while let argument = rest.popFirst() {
      let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        .map(String.init)
      let option = parts.first ?? ""
      guard let allowed = Self.allowed(option) else {
        throw UsageError(
          option: "argument", value: argument,
          allowed: "--threads, --samples, --format, --help")
      }
      guard seen.insert(option).inserted else {
        throw UsageError(option: option, value: argument, allowed: "to give the option once")
      }
      if option == "--help" || option == "-h" {
        guard parts.count == 1 else {
          throw UsageError(option: option, value: parts[1], allowed: allowed)
        }
        wantsHelp = true
        continue
      }
      guard let value = parts.count == 2 ? parts[1] : rest.popFirst() else {
        throw UsageError(option: option, value: nil, allowed: allowed)
      }
      guard apply(option, value) else {
        throw UsageError(option: option, value: value, allowed: allowed)
      }
    }
  }

  private static func allowed(_ option: String) -> String? {
    switch option {
    case "--threads":
      "a whole number from \(allowedThreads.lowerBound) to \(allowedThreads.upperBound)"
    case "--samples":
      "a whole number from \(allowedSamples.lowerBound) to \(allowedSamples.upperBound)"
    case "--format": Format.allCases.map(\.rawValue).joined(separator: ", ")
    case "--help", "-h": "no value"
    default: nil
    }
  }

  private mutating func apply(_ option: String, _ value: String) -> Bool {
    switch option {
    case "--format":
      guard let known = Format(rawValue: value) else { return false }
      format = known
    default:
      // Int("+5") is 5: only digits are taken.
      guard value.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(value) else {
        return false
      }
      if option == "--threads" {
        guard Self.allowedThreads.contains(number) else { return false }
        threads = number
      } else {
        guard Self.allowedSamples.contains(number) else { return false }
        samples = number
      }
    }
    return true
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

    EXIT STATUS: 0; 64 for a command line that cannot be followed; 74 when the system refuses a thread.

    """
}
