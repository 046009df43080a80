import Foundation
import TestSupport
import Testing
import Threading

@testable import guide

/// Reading RSS, and refusing what is none.
@Suite("News feeds", .endsInTime)
struct FeedReaderTests {
  private func read(_ text: String) throws -> [[TableChapter.Row]] {
    var batches: [[TableChapter.Row]] = []
    try TableChapter.FeedReader("it") { batches.append($0) }.read(Data(text.utf8))
    return batches
  }

  private func feed(_ items: String) -> String {
    "<?xml version=\"1.0\"?><rss version=\"2.0\"><channel><title>All</title>\(items)</channel></rss>"
  }

  @Test("a title may have entities, CDATA and line breaks; what moves a cursor is left out")
  func titles() throws {
    let rows = try read(
      feed(
        """
        <item><title>a &amp; b</title></item>
        <item><title><![CDATA[c < d]]></title></item>
        <item><title>
          e
          f</title></item>
        <item><title>g&#x9B;31mh</title><image><url>x</url></image></item>
        """)
    ).joined()
    #expect(rows.map(\.title) == ["a & b", "c < d", "e f", "g31mh"])
  }

  @Test("a picture is an enclosure of an image")
  func pictures() throws {
    let rows = try read(
      feed(
        """
        <item><enclosure url="a.mp3" type="audio/mpeg"/><title>a</title></item>
        <item><title>b</title><enclosure url="b.bmp" type="image/bmp"/></item>
        """)
    ).joined()
    #expect(rows.map(\.picture) == [nil, "b.bmp"])
  }

  @Test("rows come four at a time, and the rest at the end", arguments: [0, 1, 4, 5, 8])
  func batches(count: Int) throws {
    let items = (0..<count).map { "<item><title>\($0)</title></item>" }.joined()
    let batches = try read(feed(items))
    #expect(batches.dropLast().allSatisfy { $0.count == 4 })
    #expect(batches.joined().map(\.title) == (0..<count).map(String.init))
  }

  @Test("what the receiver throws ends the reading")
  func thrown() throws {
    struct Enough: Error {}
    let items = (0..<12).map { "<item><title>\($0)</title></item>" }.joined()
    var count = 0
    #expect(throws: Enough.self) {
      try TableChapter.FeedReader("it") { _ in
        count += 1
        throw Enough()
      }.read(Data(feed(items).utf8))
    }
    #expect(count == 1)
  }

  @Test(
    "what is no RSS is refused in one line",
    arguments: [
      ("<html><body/></html>", "it is not an RSS feed: it begins with an element \"html\""),
      ("<feed xmlns=\"http://www.w3.org/2005/Atom\"/>", "it begins with an element \"feed\""),
      ("", "is not XML"), ("hello", "is not XML"), ("\u{0}\u{1}\u{2}", "is not XML"),
      ("<rss><channel><item>", "is not XML"), ("<rss></channel></rss>", "is not XML"),
      ("<rss><channel></channel>", "is not XML"),
    ])
  func refused(text: String, message: String) throws {
    let failure = #expect(throws: ChapterFailure.self) { try read(text) }
    #expect(failure?.status == .badData)
    #expect(failure?.description.hasSuffix(message) == true, "\(failure?.description ?? "")")
    #expect(failure?.description.contains("\n") == false)
  }

  @Test("a thumbnail is read from a bitmap, and nothing else")
  func thumbnails() throws {
    let file = TableChapter.Thumbnail.file(1)
    let shades = try TableChapter.Thumbnail(Data(file)).text
    #expect(shades.count == TableChapter.Thumbnail.width)
    #expect(Set(shades).count > 2)
    for other in [[], Array(file.dropLast(8)), [0] + file, Array("GIF89a".utf8)] {
      #expect(throws: ChapterFailure.self) { try TableChapter.Thumbnail(Data(other)) }
    }
  }
}
