import Foundation
import TestSupport
import Testing
import Threading

@testable import guide

/// What becomes of output that cannot be written, and of text that would move a terminal's cursor.
@Suite("What the guide prints", .serialized, .endsInTime)
struct OutputTests {
  let folder: Folder

  init() throws {
    folder = try Folder()
  }

  @Test("output that cannot be written is told in one line, with status 74")
  func refused() throws {
    for command in ["list", "1", "1 --explain", "check", "import", "generate --stop-times 1 f"] {
      let full = try GuideProcess.shell("guide \(command) > /dev/full", in: folder)
      #expect(full.status == 74, "\(command)")
      #expect(
        full.errors == "guide: cannot write to standard output: No space left on device\n")
    }
    let closed = try GuideProcess.shell("guide list >&-", in: folder)
    #expect(closed.status == 74)
    #expect(closed.errors == "guide: cannot write to standard output: Bad file descriptor\n")
    // A mistake stays a mistake.
    #expect(try GuideProcess.shell("guide 77 > /dev/full", in: folder).status == 64)
    #expect(try GuideProcess.shell("guide list < /dev/null <&- 2>&-", in: folder).status == 0)
  }

  @Test("a reader that has gone is not told, but the status tells")
  func readerGone() throws {
    for arguments in [["list"], ["1"], ["all"]] {
      let ending = try GuideProcess(arguments, in: folder, hasReader: false).end()
      #expect(ending.status == 74)
      #expect(ending.errors.isEmpty)
    }
  }

  @Test("output to a pipe that refuses what it has no room for arrives whole")
  func neverWaiting() throws {
    let text = String(repeating: "guide ", count: 50_000)
    let (reading, writing) = try Descriptor.pipe()
    try #require(fcntl(writing.number, F_SETFL, O_NONBLOCK) == 0)
    let reader = try PosixThread.start { () -> String in
      var all = ""
      while all.utf8.count < text.utf8.count { all += reading.read() }
      return all
    }
    #expect(Console.write(text, to: writing.number) == nil)
    #expect(try reader.join() == text)
  }

  @Test("text from outside does not move the cursor of the terminal, wherever it is told")
  func escapes() throws {
    let name = "a\u{1B}[31mb"
    for arguments in [
      ["18", name], ["18", "http://\(name)"], ["17", name], ["21", name], ["21", name + "/x.bmp"],
      ["import", name], ["import", "--database", name + "/x"], ["articles", name], [name],
      ["generate", "--stop-times", "1", name + "/x"],
      ["import", "--sqlite-library", name],
    ] {
      let ending = try GuideProcess(arguments, in: folder).end()
      #expect(ending.status != 0)
      #expect(ending.errors.contains("a\\u{1B}[31mb"), "\(arguments): \(ending.errors)")
      #expect(!(ending.errors + ending.output).contains("\u{1B}"), "\(arguments)")
      #expect(ending.errors.split(separator: "\n").count == 1)
    }
    let made = try GuideProcess(["generate", "--stop-times", "1", name], in: folder).end()
    #expect(made.output == "wrote 1 stop times to a\\u{1B}[31mb\n")
    let imported = try GuideProcess(["import", name], in: folder).end()
    #expect(imported.status == 0)
    #expect(!imported.output.contains("\u{1B}"))
  }

  @Test("a line keeps all that a terminal only shows")
  func line() {
    #expect(Printable.line("caf\u{E9} \"x\" \\ …") == "caf\u{E9} \"x\" \\ …")
    #expect(Printable.line("a\u{1B}[2J\r\nb\u{202E}") == "a\\u{1B}[2J\\r\\nb\\u{202E}")
    let recorder = Recorder()
    let page = Page(recorder.console(isTerminal: true))
    page.say("a\u{1B}b")
    page.claim("c\u{7}d", true)
    page.figure("e", "f\u{9B}g")
    let marks = recorder.output.replacing(/\u{1B}\[[0-9;]*m/, with: "")
    #expect(marks == "  a\\u{1B}b\n  ok: c\\u{07}d\n  e: f\\u{009B}g\n")
  }

  @Test("an error of Foundation is told in the words of the system")
  func foundationErrors() {
    let inner = NSError(domain: NSPOSIXErrorDomain, code: Int(EMFILE))
    let error = NSError(
      domain: NSCocoaErrorDomain, code: 257,
      userInfo: [NSUnderlyingErrorKey: inner, NSFilePathErrorKey: "/some/file"])
    #expect(FailureReport(error).reason == "cannot use /some/file: Too many open files")
    #expect(FailureReport(POSIXError(.ENOSPC)).reason.hasSuffix("No space left on device"))
    #expect(FailureReport(URLError(.timedOut)).reason.contains("the server has said nothing"))
    #expect(FailureReport(error).status == .system)
    let refusal = FileError(action: "open", path: "x", code: ENOENT)
    #expect(FailureReport(refusal).reason == "cannot open x: No such file or directory")
    #expect(FailureReport(refusal).status == .noInput)
  }

  @Test(
    "on a terminal a chapter shows how far it is, on one line of any width",
    arguments: [1, 2, 9, 17, 21])
  func liveBars(number: Int) throws {
    for columns: UInt16 in [200, 10, 2, 1] {
      guard let shown = try Terminal.run(["\(number)"], columns: columns, rows: 5) else { return }
      #expect(shown.status == 0, "\(shown.output)")
      let drawn = shown.output.split(separator: "\r\u{1B}[K", omittingEmptySubsequences: false)
        .dropFirst().map { $0.prefix { $0 != "\r\n" && $0 != "\n" } }
      #expect(drawn.count > 1)
      // The last is a line of the page, in whose place the bars are no more.
      #expect(drawn.dropLast().filter { $0.hasPrefix("[") }.allSatisfy { $0.count < columns })
      if columns == 200 { #expect(drawn.contains { $0.contains("[#") }, "\(shown.output)") }
    }
    #expect(try !GuideProcess(["\(number)"], in: folder).end().output.contains("[#"))
  }

  @Test("a bar is never longer than it can be")
  func bars() {
    #expect(Bars.text([0, 0.5, 1], width: 4) == "[    ] [##  ] [####]")
    #expect(Bars.text([-1, 2], width: 2) == "[  ] [##]")
  }
}
