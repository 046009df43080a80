import Foundation
import FoundationNetworking
import Threading

extension TableChapter {
  typealias Download = AsynchronousChapter.Download

  // snippet: table
  /// The table on the screen. It belongs to the main thread.
  // SAFETY of @unchecked: all of it is used on the main thread alone; the parser and the downloads
  // reach it through `LoopDelegate`.
  final class NewsTable: FeedDelegate, @unchecked Sendable {
    private(set) var rows: [Row] = []
    private(set) var pictures: [Int: Thumbnail] = [:]
    private var loads: [Int: Download] = [:]
    private let queue: ThreadOperationQueue
    private let base: URL

    /// The rows that are seen.
    private(set) var window = 0..<0

    func feed(didRead rows: [Row]) {
      self.rows += rows
      batches.append(rows.count)
    }

    /// Moves the window: pictures in it come first, those of the page behind it next, and what was
    /// wanted elsewhere is not wanted any more.
    func scroll(to first: Int) throws {
      queue.suspend()  // nothing begins before all is decided
      defer { queue.resume() }
      window = min(first, rows.count)..<min(first + Self.height, rows.count)
      let near = window.lowerBound..<min(window.upperBound + Self.height, rows.count)
      for (row, load) in loads where !near.contains(row) {
        load.cancel()
        loads[row] = nil
      }
      for row in near where pictures[row] == nil {
        if loads[row] == nil { try load(row) }
        loads[row]?.priority = window.contains(row) ? .high : .low
      }
      hasChanged()
    }
    // end

    // snippet: load
    private func load(_ row: Int) throws {
      guard let picture = rows[row].picture, let url = URL(string: picture, relativeTo: base)
      else { return }
      let load = Download(url)
      loads[row] = load
      load.addCompletion { [link = LoopDelegate(self)] operation in
        if operation.isCancelled { return }
        let picture = try? Thumbnail(load.data)  // nil, too, where the server had none
        link.tell { $0.show(picture, row, from: load) }
      }
      try queue.add(load)
    }

    private func show(_ picture: Thumbnail?, _ row: Int, from load: Download) {
      guard loads[row] === load else { return }  // scrolled away meanwhile
      loads[row] = nil
      pictures[row] = picture
      hasChanged()
    }
    // end

    private static let height = 4

    /// Set when the parser has ended.
    let isRead = ExitFlag()
    private(set) var error: (any Error)?
    /// How many rows came at a time.
    private(set) var batches: [Int] = []
    /// Whether all that it was told came on its own thread.
    private(set) var isOnMain = true

    private let whenChanged: (NewsTable) -> Void
    /// Set when nothing is wanted that is not there.
    private var isComplete = ExitFlag()

    /// A table.
    ///
    /// - Parameters:
    ///   - base: what addresses of pictures are relative to.
    ///   - queue: what loads pictures.
    ///   - whenChanged: called when a picture has come, or others are wanted.
    init(base: URL, queue: ThreadOperationQueue, whenChanged: @escaping (NewsTable) -> Void) {
      self.base = base
      self.queue = queue
      self.whenChanged = whenChanged
    }

    func feed(didEndWith error: (any Error)?) {
      isOnMain = isOnMain && ThreadRunLoop.main.isCurrent
      self.error = error
      isRead.set()
    }

    private func hasChanged() {
      isOnMain = isOnMain && ThreadRunLoop.main.isCurrent
      whenChanged(self)
      if loads.isEmpty { isComplete.set() }
    }

    /// Serves the main thread's loop until the pictures that are wanted are there, or the deadline comes.
    func waitForPictures(until deadline: MonotonicInstant = .distantFuture) {
      isComplete = ExitFlag()
      if loads.isEmpty { return }
      ThreadRunLoop.main.run(until: isComplete, deadline: deadline)
    }

    /// The rows of the window, as lines.
    var lines: [String] {
      window.map { row in
        let number = Figures.padded("\(row + 1)", to: 4, right: true)
        let picture = pictures[row]?.text ?? String(repeating: "-", count: Thumbnail.width)
        return "\(number)  [\(picture)]  \(rows[row].title)"
      }
    }

    /// A character for each row: its picture is there, is wanted at once, is wanted later, is not.
    var state: String {
      String(
        rows.indices.map { row in
          if pictures[row] != nil { return "#" }
          guard let load = loads[row] else { return "." }
          return load.isExecuting ? "~" : load.priority == .high ? "!" : "?"
        })
    }
  }
}
