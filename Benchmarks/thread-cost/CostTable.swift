import BenchmarkSupport
import Foundation

/// What was measured, as text.
struct CostTable {
  let machine: Machine
  let options: CostOptions
  let costs: [Cost]

  private var kinds: [String] { ThreadKind.all.map(\.name) }

  func text(as format: OutputFormat) -> String {
    switch format {
    case .table: table
    case .tsv: tsv
    case .json: json
    }
  }

  private var table: String {
    func section(_ unit: Quantity) -> String {
      AlignedTable.text(
        header: [unit == .bytes ? "memory of a thread" : "time, median"] + kinds,
        rows: costs.filter { $0.unit == unit }.map { cost in
          [cost.name]
            + kinds.map { kind in
              cost.values[kind].map { Figures.amount($0.median, unit) } ?? "-"
            }
        }, leftColumns: 1)
    }
    return """
      \(machine.summary)
      \(machine.date), \(options.threads) threads parked, samples of each time: \(options.samples)

      \(section(.bytes))
      \(section(.nanoseconds))
      The usual stack has 8 MiB of addresses, of which pages become resident as they are used.
      Kernel stacks are told for the whole machine: other processes show in them.
      Foundation has no join: its time ends when the body says that it is through, and a little later
      the thread is gone. Dispatch starts no thread where it still has one.

      """
  }

  private var tsv: String {
    let lines = costs.flatMap { cost in
      kinds.compactMap { kind -> String? in
        guard let value = cost.values[kind] else { return nil }
        return [
          cost.name, kind, cost.unit.rawValue, Figures.fixed(value.median, decimals: 1),
          Figures.fixed(value.minimum, decimals: 1), Figures.fixed(value.percentile99, decimals: 1),
        ].joined(separator: "\t")
      }
    }
    return (["cost\tkind\tunit\tmedian\tmin\tp99"] + lines).joined(separator: "\n") + "\n"
  }

  private var json: String {
    let document = CostDocument(
      schema: "swift-threading thread-cost 1", machine: machine, threads: options.threads,
      samples: options.samples,
      costs: costs.flatMap { cost in
        kinds.compactMap { kind in
          cost.values[kind].map {
            CostDocument.Entry(
              cost: cost.name, kind: kind, unit: cost.unit, median: $0.median, min: $0.minimum,
              p99: $0.percentile99)
          }
        }
      })
    return JSONText.of(document)
  }
}

/// The shape of `--format json`.
struct CostDocument: Codable, Equatable {
  struct Entry: Codable, Equatable {
    let cost: String
    let kind: String
    let unit: Quantity
    let median: Double
    let min: Double
    let p99: Double
  }

  /// Name and version of this shape.
  let schema: String
  let machine: Machine
  let threads: Int
  let samples: Int
  let costs: [Entry]
}
