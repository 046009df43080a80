import Foundation
import TestSupport
import Testing
import Threading

@testable import guide

/// Chapters that are given something on the command line.
@Suite("What a chapter is given", .serialized, .endsInTime)
struct ChapterInputTests {
  let folder: Folder

  init() throws {
    folder = try Folder()
  }

  /// Runs the guide; whatever goes wrong is one line.
  private func run(_ arguments: String...) throws -> (status: Int32, output: String, error: String)
  {
    let ending = try GuideProcess(arguments, in: folder).end()
    #expect(ending.errors.split(separator: "\n").count == (ending.status == 0 ? 0 : 1))
    return (ending.status, ending.output, ending.errors)
  }

  @Test("a download that fails ends the program with one line")
  func download() throws {
    let server = try LocalServer { request in
      request.answer(
        request.page == "there" ? .page([1, 2, 3], type: "text/plain") : .status(404))
    }
    let found = try run("17", server.address("there"))
    #expect(found.status == 0)
    #expect(found.output.hasSuffix("  bytes: 3\n"))
    let missing = try run("17", server.address("not"))
    #expect(missing.status == 66)
    #expect(
      missing.error == "guide: chapter 17: cannot fetch \(server.address("not")): status 404\n")
    try server.end()
    let refused = try run("17", server.address("there"))
    #expect(refused.status == 66)
    #expect(refused.error.hasPrefix("guide: chapter 17: cannot fetch \(server.address("there")): "))
    #expect(try run("17", "nothing").status == 64)
  }

  @Test("a chapter's server listens on a port of one's choice, or says that it is in use")
  func port() throws {
    let server = try LocalServer { _ in }
    let taken = try run("17", "--port", "\(server.port)")
    #expect(taken.status == 71)
    #expect(
      taken.error
        == "guide: chapter 17: cannot listen on port \(server.port): Address already in use\n")
    try server.end()
    let chosen = try run("17", "--port=\(server.port)")
    #expect(chosen.status == 0)
    #expect(chosen.output.contains("http://127.0.0.1:\(server.port)/nothing"))
  }

  @Test("a feed is shown from a file or an address; one that is none ends the program")
  func feed() throws {
    let rss = "<rss><channel><item><title>hello</title></item></channel></rss>"
    let file = folder.path + "/feed.rss"
    try Data(rss.utf8).write(to: URL(filePath: file))
    let server = try LocalServer { request in
      switch request.page {
      case "feed": request.answer(.page(Array(rss.utf8), type: "text/xml"))
      case "page": request.answer(.page(Array("<html/>".utf8), type: "text/html"))
      default: request.answer(.status(404))
      }
    }
    for word in [file, server.address("feed")] {
      let shown = try run("18", word)
      #expect(shown.status == 0)
      #expect(shown.output.hasSuffix("     1  [--------]  hello\n  rows: 1\n"))
    }
    let page = server.address("page")
    let other = try run("18", page)
    #expect(other.status == 65)
    #expect(
      other.error
        == "guide: chapter 18: \(page) is not an RSS feed: it begins with an element \"html\"\n")
    #expect(try run("18", server.address("nothing")).status == 66)
    try server.end()
    let nothing = try run("18", "/nowhere/feed.rss")
    #expect(nothing.status == 66)
    #expect(
      nothing.error
        == "guide: chapter 18: cannot open /nowhere/feed.rss: No such file or directory\n"
    )
    #expect(
      try run("18", folder.path).error
        == "guide: chapter 18: cannot read \(folder.path): it is a folder\n")
    #expect(try run("18", "http://").status == 64)
  }

  @Test("a picture is written where one wants it, or the program ends with one line")
  func picture() throws {
    let file = folder.path + "/picture.bmp"
    let written = try run("21", file)
    #expect(written.status == 0)
    #expect(written.output.hasSuffix("  look at it: \(file)\n"))
    let bytes = try Data(contentsOf: URL(filePath: file))
    #expect(bytes.count == 54 + 512 * 384 * 3 && bytes.starts(with: "BM".utf8))
    let refused = try run("21", "/nowhere/picture.bmp")
    #expect(refused.status == 74)
    #expect(
      refused.error
        == "guide: chapter 21: cannot make /nowhere/picture.bmp: No such file or directory\n")
    #expect(try run("21", "/proc/picture.bmp").status == 74)
  }

  @Test("what a chapter cannot be given is told in one line, with status 64")
  func mistakes() throws {
    func error(_ arguments: String...) -> String? {
      do throws(UsageError) {
        _ = try GuideCommand.parse(arguments)
        return nil
      } catch {
        return error.description
      }
    }
    #expect(error("1", "x") == "chapter 1 takes options alone, but was given \"x\"")
    #expect(error("1", "--port", "80") == "chapter 1 has no web server, and takes no --port")
    for port in ["0", "65536", "-1", "http", ""] {
      #expect(error("17", "--port", port) == "--port \"\(port)\" is not a number in 1...65535")
    }
    #expect(
      error("17", "--port", "80", "--port", "81")
        == "chapter 17 has one server, but was given a second --port: 81")
    #expect(error("17", "a", "b") == "chapter 17 takes one URL, but was given \"b\", too")
    #expect(error("17", "") == "URL is empty")
    let alone = "chapter 17 takes what it is given alone, without other options"
    #expect(error("17", "a", "--solution", "1") == alone)
    #expect(error("17", "--port", "80", "--help") == alone)
    #expect(error("17", "--port", "80", "a") == nil)
  }
}
