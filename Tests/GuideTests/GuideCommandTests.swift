import Foundation
import TestSupport
import Testing

@testable import guide

@Suite("The command line", .endsInTime)
struct GuideCommandTests {
  private func error(_ arguments: String...) -> String? {
    do throws(UsageError) {
      _ = try GuideCommand.parse(arguments)
      return nil
    } catch {
      return error.description
    }
  }

  @Test("a chapter is called by its name or number")
  func chapters() throws {
    #expect(try GuideCommand.parse(["import"]) == .importFeed(try ImportOptions()))
    #expect(try GuideCommand.parse(["20"]) == .importFeed(try ImportOptions()))
    #expect(try GuideCommand.parse(["run", "import"]) == .importFeed(try ImportOptions()))
    #expect(try GuideCommand.parse(["1"]) == .run(1))
    #expect(try GuideCommand.parse(["run", "thread"]) == .run(1))
    #expect(try GuideCommand.parse(["01"]) == .run(1))
    #expect(try GuideCommand.parse(["run", "017", "--solution", "2"]) == .solution(2, of: 17))
    for word in ["+1", "1.0", "0", "00", "0x1", ""] { #expect(Book.chapter(word) == nil) }
    #expect(try GuideCommand.parse(["1", "--explain"]) == .explain(1))
    #expect(try GuideCommand.parse(["20", "--explain"]) == .explain(20))
    #expect(try GuideCommand.parse(["1", "--solution=2"]) == .solution(2, of: 1))
    #expect(try GuideCommand.parse(["import", "--solution=1"]) == .solution(1, of: 20))
    #expect(try GuideCommand.parse(["20", "--solution", "2"]) == .solution(2, of: 20))
    #expect(try GuideCommand.parse(["all"]) == .all)
    #expect(try GuideCommand.parse(["check"]) == .check(writing: false))
    #expect(try GuideCommand.parse(["check", "--write"]) == .check(writing: true))
    #expect(try GuideCommand.parse(["articles", "a"]) == .articles(catalogue: "a"))
    #expect(try GuideCommand.parse(["list"]) == .list)
    #expect(try GuideCommand.parse([]) == .help)
    #expect(try GuideCommand.parse(["--help"]) == .help)
    #expect(try GuideCommand.parse(["import", "--help"]) == .importHelp)
    #expect(try GuideCommand.parse(["20", "FEED", "-h"]) == .importHelp)
    #expect(try GuideCommand.parse(["generate", "--help"]) == .generateHelp)
  }

  @Test("the options of an import may stand anywhere, joined or apart")
  func importOptions() throws {
    var expected = try ImportOptions()
    expected.feed = "feed"
    expected.database = "a=b.sqlite"
    expected.isStrict = true
    expected.library = "lib.so"
    for arguments in [
      ["--strict", "--database", "a=b.sqlite", "feed", "--sqlite-library=lib.so"],
      ["feed", "--database=a=b.sqlite", "--sqlite-library", "lib.so", "--strict"],
    ] {
      #expect(try ImportOptions(arguments) == expected)
    }
    #expect(try ImportOptions(["--", "--strict"]).feed == "--strict")
    #expect(try ImportOptions(["-"]).feed == "-")
  }

  @Test("what makes no sense is told in one line that names it and what is allowed")
  func mistakes() {
    let known = "--database FILE, --strict, --sqlite-library FILE, --help"
    #expect(error("import", "--fast") == "unknown option \"--fast\"; import takes \(known)")
    #expect(error("import", "-s") == "unknown option \"-s\"; import takes \(known)")
    #expect(error("import", "a", "b") == "import takes one FEED, but was given \"a\" and \"b\"")
    #expect(error("import", "") == "FEED is empty; it must be a path")
    #expect(error("import", "--database") == "--database needs a value: --database FILE")
    #expect(error("import", "--database=") == "--database is empty; it must be a path")
    #expect(
      error("import", "--strict=yes")
        == "--strict takes no value, but was given one: \"--strict=yes\"")
    let swallowed = "--database needs a value, and \"--strict\" is an option; "
    #expect(
      error("import", "--database", "--strict")
        == swallowed + "a file of that name is given as --database=...")
    #expect(error("import", "--database=--strict") == nil)
    #expect(
      error("import", "--database", ":memory:")
        == "--database :memory: is no file, and the import needs one: two threads each open it")
    let chapters =
      "chapters: \(Book.numbers), or their names; "
      + "commands: list, run, all, check, articles, generate, help"
    #expect(error("77") == "no chapter or command \"77\"; \(chapters)")
    #expect(error("run", "77") == "no chapter or command \"77\"; \(chapters)")
    #expect(error("run") == "run needs a chapter: \(Book.numbers), or a name that guide list tells")
    #expect(
      error("1", "--solution", "3")
        == "--solution \"3\" is not a number in 1...2, the exercises of chapter 1")
    #expect(error("1", "--part", "x") == "chapter 1 has no part \"x\"; its parts: none")
    #expect(error("check", "x") == "check takes nothing but --write, but was given \"x\"")
    #expect(error("articles") == "articles needs a FOLDER: the documentation's catalogue")
    #expect(error("articles", "a", "b") == "articles takes nothing but FOLDER, but was given \"b\"")
    #expect(error("x\u{1B}[31m\n") == "no chapter or command \"x\\u{1B}[31m\\n\"; \(chapters)")
    #expect(error("--fast") == "unknown option \"--fast\"; before a chapter there is only --help")
    #expect(error("list", "all") == "list takes nothing, but was given \"all\"")
    #expect(error("generate", "f") == "generate needs --stop-times N")
    #expect(error("generate", "--stop-times", "5") == "generate needs a FOLDER")
    for number in ["0", "-1", "100000001", "ten", "1.5", ""] {
      #expect(
        error("generate", "--stop-times", number, "f")
          == "--stop-times \"\(number)\" is not a number in 1...100000000")
    }
  }

  @Test("a mistake ends with status 64 and one line on standard error")
  func status() {
    let recorder = Recorder()
    #expect(Guide.run(["77"], on: recorder.console()) == .usage)
    #expect(recorder.output.isEmpty)
    #expect(recorder.errors.hasPrefix("guide: no chapter or command \"77\""))
    #expect(recorder.errors.split(separator: "\n").count == 1)
  }

  @Test("the help names every option and every exit status")
  func help() {
    let recorder = Recorder()
    #expect(Guide.run(["import", "--help"], on: recorder.console()) == .done)
    for option in ImportOptions.syntax { #expect(recorder.output.contains(option.name)) }
    for status in ExitStatus.ofImport { #expect(recorder.output.contains(status.meaning)) }
    #expect(recorder.lines.allSatisfy { $0.count <= 100 })
  }

  @Test("the list names every chapter, and its text is there")
  func list() {
    let recorder = Recorder()
    #expect(Guide.run(["list"], on: recorder.console()) == .done)
    let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    for chapter in Book.chapters {
      #expect(recorder.output.contains(chapter.title))
      #expect(
        FileManager.default.fileExists(atPath: package.appending(path: chapter.textPath).path))
    }
  }

  @Test("the database is named after the feed's folder")
  func databaseName() {
    #expect(ImportChapter.databaseName(for: "feeds/kart") == "kart.sqlite")
    #expect(ImportChapter.databaseName(for: "/a/b/") == "b.sqlite")
    #expect(ImportChapter.databaseName(for: "/a/b/..") == "a.sqlite")
    #expect(ImportChapter.databaseName(for: "/") == "feed.sqlite")
    let here = URL(filePath: FileManager.default.currentDirectoryPath)
    #expect(
      ImportChapter.databaseName(for: ".")
        == here.resolvingSymlinksInPath().lastPathComponent + ".sqlite")
  }
}
