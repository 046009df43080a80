import BenchmarkSupport

/// How much slower than a rival the toolkit may be.
///
/// A file has one limit a line: a workload, a rival and a ratio, with blanks between them. The ratio
/// is our time relative to the rival's: 1.5 allows half as much again. What follows a `#` is a
/// comment.
struct Gate: Equatable {
  struct Limit: Equatable {
    /// Where it stands, from 1.
    let line: Int
    let workload: String
    let rival: String
    let ratio: Double
  }

  /// A limit and what was measured.
  struct Verdict: Equatable {
    let limit: Limit
    /// Ours relative to the rival: the smaller of the median of the rounds and the ratio of the
    /// minima. What else the machine has to do disturbs the one or the other; a toolkit that got
    /// slower shows in both.
    let ratio: Double

    var isKept: Bool { ratio <= limit.ratio }
  }

  let limits: [Limit]

  /// Reads a file.
  ///
  /// - Throws: an error for the first line that is no limit, or that names a workload or a rival
  ///   which is not in the catalogue.
  init(_ file: InputFile, catalogue: [Workload]) throws(FileError) {
    var limits: [Limit] = []
    for (index, text) in file.lines.enumerated() {
      let number = index + 1
      let fields = (text.split(separator: "#", omittingEmptySubsequences: false).first ?? "")
        .split { $0 == " " || $0 == "\t" }.map(String.init)
      if fields.isEmpty { continue }
      guard fields.count == 3, let ratio = OptionValues.number(fields[2], in: 0...1e9), ratio > 0
      else {
        throw file.refusal(
          ofLine: number,
          expected: "a workload, a rival and a ratio above 0, as lock/read pthread 1.5")
      }
      guard let workload = catalogue.first(where: { $0.name == fields[0] }) else {
        throw file.refusal(
          ofLine: number,
          expected: "the name of a workload (--list names them), and \"\(fields[0])\" is none")
      }
      let rivals = workload.implementations.map(\.name).filter { $0 != Implementation.oursName }
      guard rivals.contains(fields[1]) else {
        throw file.refusal(
          ofLine: number,
          expected: "a rival of \(fields[0]), one of \(rivals.joined(separator: ", "))")
      }
      limits.append(Limit(line: number, workload: fields[0], rival: fields[1], ratio: ratio))
    }
    guard !limits.isEmpty else {
      throw file.refusal(
        ofLine: file.lines.count + 1, expected: "at least one workload, rival and ratio")
    }
    self.limits = limits
  }

  /// The workloads that the limits name, with `ours` and the named rivals alone.
  func workloads(of catalogue: [Workload]) -> [Workload] {
    catalogue.compactMap { workload in
      let rivals = Set(limits.filter { $0.workload == workload.name }.map(\.rival))
      return rivals.isEmpty
        ? nil : workload.keeping { $0 == Implementation.oursName || rivals.contains($0) }
    }
  }

  /// What the rows say of the limits; a limit whose rows are not there is left out.
  func verdicts(on rows: [Row]) -> [Verdict] {
    limits.compactMap { limit in
      guard let rival = Self.row(of: limit.rival, limit, rows),
        let ours = Self.row(of: Implementation.oursName, limit, rows)
      else { return nil }
      let ofRounds =
        rival.ratioToOurs.map { Self.quotient(1, $0) }
        ?? Self.quotient(ours.median, rival.median)
      return Verdict(limit: limit, ratio: min(ofRounds, Self.quotient(ours.minimum, rival.minimum)))
    }
  }

  /// What needs anything where the rival needs nothing is slower than any limit.
  private static func quotient(_ ours: Double, _ rival: Double) -> Double {
    ours == rival ? 1 : ours / rival
  }

  private static func row(of implementation: String, _ limit: Limit, _ rows: [Row]) -> Row? {
    rows.last { $0.workload == limit.workload && $0.implementation == implementation }
  }

  /// What is told of it.
  static func text(of verdicts: [Verdict], path: String) -> String {
    let broken = verdicts.filter { !$0.isKept }
    let kept = verdicts.count - broken.count
    var text = "\nGate \(path): \(kept) of \(verdicts.count) limits kept.\n"
    for verdict in broken {
      text += """
        line \(verdict.limit.line): \(verdict.limit.workload): ours takes \
        \(Figures.fixed(verdict.ratio, decimals: 2)) times as long as \(verdict.limit.rival), \
        allowed is \(verdict.limit.ratio)

        """
    }
    return text
  }
}
