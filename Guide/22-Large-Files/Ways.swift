import Foundation
import Threading

extension LargeFilesChapter {
  static func tallyWhole(_ path: String) throws -> Tally {
    // snippet: whole
    let text = try String(contentsOfFile: path, encoding: .utf8)
    let tally = Tally(Array(text.utf8))
    // end
    return tally
  }

  static func tallyInBatches(_ path: String) throws -> Tally {
    // snippet: one
    var tally = Tally()
    for batch in try LineBatches(of: path) {
      tally.add(Tally(try batch.get()))
    }
    // end
    return tally
  }

  struct Piped {
    var tally: Tally

    /// How many batches were under way at once.
    var mostUnderWay: Int
  }

  static let underWay = 4

  static func tallyByPipeline(_ path: String) throws -> Piped {
    let gauge = Gauge()
    // snippet: pipeline
    let tally = Locked(Tally())
    try WorkPipeline(of: Result<[UInt8], FileError>.self)
      .parallel { batch in Tally(try batch.get()) }
      .inOrder { part in
        tally.withLock { $0.add(part) }
        gauge.leave()
      }
      .run(try LineBatches(of: path).lazy.map(gauge.enter), inFlight: underWay)
    // end
    return Piped(tally: tally.withLock { $0 }, mostUnderWay: gauge.most)
  }

  /// Counts what is inside, and remembers the most.
  final class Gauge: Sendable {
    private let counts = Locked((now: 0, most: 0))

    var most: Int { counts.withLock { $0.most } }

    func enter<Item>(_ item: Item) -> Item {
      counts.withLock {
        $0.now += 1
        $0.most = max($0.most, $0.now)
      }
      return item
    }

    func leave() { counts.withLock { $0.now -= 1 } }
  }
}
