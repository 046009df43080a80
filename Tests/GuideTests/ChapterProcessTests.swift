import Foundation
import TestSupport
import Testing

@testable import guide

/// The chapters as a reader meets them: a process, its output, its exit status.
@Suite("The chapters' programs", .serialized, .endsInTime)
struct ChapterProcessTests {
  /// The chapters with a program that takes nothing.
  static let numbers = Book.chapters.map { $0.number }.filter { $0 != ImportChapter.number }
  static let exercises = Book.chapters.flatMap { chapter in
    chapter.solutions.indices.map { [chapter.number, $0 + 1] }
  }

  let folder: Folder

  init() throws {
    folder = try Folder()
  }

  @Test("a chapter prints what its text shows, in less than five seconds", arguments: numbers)
  func output(number: Int) throws {
    let start = ContinuousClock.now
    let ending = try GuideProcess(["run", "\(number)"], in: folder).end()
    let duration = start.duration(to: .now)
    #expect(ending.status == 0)
    #expect(ending.errors == "")
    let pattern = try #require(try TextCheck.text(of: Book.chapter(number)).output)
    let lines = ending.output.split(separator: "\n", omittingEmptySubsequences: false)
      .map(String.init).dropLast()
    #expect(
      ChapterText.matches(Array(lines), pattern), "it printed:\n\(ending.output)")
    #expect(AllocatingSanitizer.isActive || duration < .seconds(5))
  }

  @Test("a solution does what its exercise asks for", arguments: exercises)
  func solution(exercise: [Int]) throws {
    let ending = try GuideProcess(["\(exercise[0])", "--solution", "\(exercise[1])"], in: folder)
      .end()
    #expect(ending.status == 0, "\(ending.output)")
    #expect(ending.errors == "")
    #expect(ending.output.contains("\n  ok: "))
  }

  @Test(
    "each chapter has two exercises, and its text asks for them",
    arguments: Book.chapters.map { $0.number })
  func asks(number: Int) throws {
    let chapter = Book.chapter(number)
    #expect(chapter.solutions.count == 2)
    let lines = try TextCheck.text(of: chapter).lines
    let heading = try #require(lines.firstIndex(of: "## Exercises"))
    let asked = lines[heading...].filter {
      $0.prefix { $0.isNumber }.count > 0 && $0.contains(". ")
    }
    #expect(asked.count == chapter.solutions.count)
  }

  @Test(
    "the thread sanitizer finds the race of the chapter on races",
    .enabled(if: ThreadSanitizer.isActive))
  func race() throws {
    let ending = try GuideProcess(["5"], in: folder).end()
    #expect(ending.output.contains("the thread sanitizer found the race"))
  }

  @Test("a claim that does not hold makes the exit status that of a failure")
  func wrongClaim() {
    let recorder = Recorder()
    let page = Page(recorder.console())
    page.claim("one is one", true)
    page.claim("one is two", false)
    #expect(page.claims == (2, 1))
    #expect(recorder.output == "  ok: one is one\n  WRONG: one is two\n")
  }

  @Test("colours and moving pictures are for terminals alone")
  func terminal() {
    let plain = Recorder()
    Page(plain.console()).live("half")
    Page(plain.console()).figure("size", 3)
    #expect(plain.output == "  size: 3\n")
    let coloured = Recorder()
    let page = Page(coloured.console(isTerminal: true))
    page.live("half")
    page.say("done")
    #expect(coloured.output == "\r\u{1B}[Khalf\r\u{1B}[K  done\n")
  }

  @Test("mistakes on the command line are told in one line, with status 64")
  func mistakes() throws {
    for arguments in [
      ["run", "77"], ["run"], ["1", "--solution", "3"], ["1", "--part", "none"], ["all", "1"],
      ["check", "this"], ["1", "extra"], ["1", "--explain", "--help"],
    ] {
      let ending = try GuideProcess(arguments, in: folder).end()
      #expect(ending.status == 64, "\(arguments)")
      #expect(ending.output.isEmpty)
      #expect(ending.errors.hasPrefix("guide: "))
      #expect(ending.errors.split(separator: "\n").count == 1)
    }
  }

  @Test("the text of a chapter is printed for a terminal")
  func explain() throws {
    let ending = try GuideProcess(["1", "--explain"], in: folder).end()
    #expect(ending.status == 0)
    #expect(ending.output.hasPrefix("1. A thread, and the value it brings back\n"))
    #expect(try GuideProcess(["thread", "--explain"], in: folder).end().output == ending.output)
    #expect(try GuideProcess(["run", "1", "--explain"], in: folder).end().output == ending.output)
  }

  @Test("the check finds the texts in order")
  func check() throws {
    let ending = try GuideProcess(["check"], in: folder).end()
    #expect(ending.status == 0)
    #expect(ending.output == "the code in the texts is that of the source\n")
  }
}
