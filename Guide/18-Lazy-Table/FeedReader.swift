import Foundation
import FoundationXML
import Threading

extension TableChapter {
  /// A piece of news: a row of the table.
  struct Row: Equatable, Sendable {
    var title = ""
    /// Where its picture is; nil if it has none.
    var picture: String?
  }

  // snippet: delegate
  /// Who wants to know what a ``FeedParser`` finds.
  protocol FeedDelegate: AnyObject, Sendable {
    func feed(didRead rows: [Row])
    func feed(didEndWith error: (any Error)?)
  }

  /// Reads a feed in the background and tells its delegate, on the thread of the delegate's loop.
  final class FeedParser: ReportingOperation<any FeedDelegate>, @unchecked Sendable {
    private let source: @Sendable () throws -> Data

    init(
      _ feed: String, delegate: any FeedDelegate, on loop: ThreadRunLoop,
      source: @escaping @Sendable () throws -> Data
    ) {
      self.source = source
      super.init(delegate: delegate, on: loop, name: feed)
      tellAtEnd { $0.feed(didEndWith: $1.error) }
    }

    override func main() throws {
      let reader = FeedReader(name ?? "the feed") { [self] rows in
        try checkCancellation()
        tell { $0.feed(didRead: rows) }
      }
      try reader.read(source())
    }
  }
  // end

  /// Reads RSS. The parser of Foundation calls it for each beginning and end of an element.
  final class FeedReader: NSObject, XMLParserDelegate {
    /// Called with rows, a few at a time. What it throws ends the reading.
    private let found: ([Row]) throws -> Void

    private var rows: [Row] = []
    private var row: Row?
    private var text = ""
    private var failure: (any Error)?
    private var hasBegun = false
    private var hasChannel = false

    /// The largest feed that is read, in bytes. The parser takes no more, and calls the rest no XML.
    static let largest = 10_000_000

    private static let batch = 4

    private let name: String

    init(_ name: String, found: @escaping ([Row]) throws -> Void) {
      self.name = name
      self.found = found
    }

    /// - Throws: `ChapterFailure` if it is no feed, or too large; what `found` throws.
    func read(_ data: Data) throws {
      guard data.count <= Self.largest else {
        throw ChapterFailure(
          "\(name) is too large: it has \(Figures.grouped(data.count)) bytes, more than "
            + Figures.grouped(Self.largest), .badData)
      }
      let parser = XMLParser(data: data)
      parser.delegate = self
      _ = parser.parse()
      if let failure { throw failure }
      // What `parse` returns is not enough: it is true for one that ends in the middle, and for nothing.
      guard parser.parserError == nil, hasBegun else {
        throw notAFeed("line \(parser.lineNumber) is not XML")
      }
      guard hasChannel else { throw notAFeed("it has no channel") }
      try handOver()
    }

    private func notAFeed(_ reason: String) -> ChapterFailure {
      ChapterFailure("\(name) is not an RSS feed: \(reason)", .badData)
    }

    private func handOver() throws {
      guard !rows.isEmpty else { return }
      try found(rows)
      rows = []
    }

    private func end(_ parser: XMLParser, _ error: any Error) {
      failure = error
      parser.abortParsing()
    }

    func parser(
      _ parser: XMLParser, didStartElement name: String, namespaceURI: String?,
      qualifiedName: String?, attributes: [String: String]
    ) {
      if !hasBegun, name != "rss" {
        end(parser, notAFeed("it begins with an element \(Printable(name))"))
      }
      hasBegun = true
      if name == "channel" { hasChannel = true }
      text = ""
      if name == "item" { row = Row() }
      if name == "enclosure", attributes["type"]?.hasPrefix("image/") == true {
        row?.picture = attributes["url"]
      }
    }

    func parser(_ parser: XMLParser, foundCharacters characters: String) { text += characters }

    func parser(_ parser: XMLParser, foundCDATA data: Data) {
      text += String(decoding: data, as: UTF8.self)
    }

    func parser(
      _ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?
    ) {
      if name == "title" { row?.title = Self.line(text) }
      guard name == "item", let row else { return }
      rows.append(row)
      self.row = nil
      guard rows.count == Self.batch else { return }
      do { try handOver() } catch { end(parser, error) }
    }

    /// Text as a line for a terminal: what moves its cursor is left out.
    private static func line(_ text: String) -> String {
      text.split { $0.isWhitespace }.joined(separator: " ")
        .filter { $0.unicodeScalars.allSatisfy { !CharacterSet.controlCharacters.contains($0) } }
    }
  }
}
