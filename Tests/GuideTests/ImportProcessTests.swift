import Foundation
import TestSupport
import Testing

@testable import guide

/// The chapter as a user meets it: a process, its output, its exit status, signals.
@Suite("guide import", .serialized, .endsInTime)
struct ImportProcessTests {
  let folder: Folder

  init() throws {
    folder = try Folder()
  }

  func guide(_ arguments: String...) throws -> (status: Int32, output: String, errors: String) {
    try GuideProcess(arguments, in: folder).end()
  }

  @Test("without a feed the sample feed goes into a database in the current folder")
  func sample() throws {
    let first = try guide("import")
    #expect(first.status == 0)
    #expect(first.errors.isEmpty)
    // It prints what the chapter's text says, up to the figures.
    let text = try String(
      contentsOf: ChapterTextTests.package.appending(path: ImportChapter.textPath),
      encoding: .utf8)
    let shown = try #require(text.range(of: "imported the sample feed"))
    let figures = try #require(text.range(of: "records a second:  "))
    #expect(first.output.contains(text[shown.lowerBound..<figures.lowerBound]))
    for figure in ["records a second:", "peak memory:", "main loop:"] {
      #expect(first.output.contains(figure))
    }
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["SampleFeed.sqlite"])
    let file = URL(filePath: folder.path + "/SampleFeed.sqlite")
    let before = try Data(contentsOf: file)
    let second = try guide("20")
    #expect(second.status == 0)
    #expect(try Data(contentsOf: file) == before)
  }

  @Test("exit statuses tell what went wrong")
  func statuses() throws {
    let usage = try guide("77")
    #expect(usage.status == 64)
    let noFeed = try guide("import", "nowhere")
    #expect(noFeed.status == 66)
    #expect(noFeed.errors == "guide: cannot read the folder nowhere: No such file or directory\n")
    let noLibrary = try guide("import", "--sqlite-library", "libnone.so.9")
    #expect(noLibrary.status == 69)
    #expect(noLibrary.errors.contains("libnone.so.9"))
    let noFolder = try guide("import", "--database", "no/db")
    #expect(noFolder.status == 74)
    #expect(noFolder.errors.contains("cannot open no/db"))
    _ = try folder.feed(["stops": "stop_id,stop_name,stop_lat,stop_lon\nA,B,1\n"])
    let loose = try guide("import", "feed")
    #expect(loose.status == 0)
    #expect(loose.errors.hasPrefix("stops.txt:2:6: wrong number of fields:"))
    let strict = try guide("import", "--strict", "feed")
    #expect(strict.status == 65)
    #expect(strict.errors.hasPrefix("stops.txt:2:6: wrong number of fields:"))
    #expect(strict.output.contains("refused under --strict"))
    // None of the failures left a file.
    let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    #expect(files == ["feed", "feed.sqlite"])
  }

  @Test("standard streams that are closed are opened before any other file")
  func closedStreams() async {
    await #expect(processExitsWith: .success) {
      for descriptor in STDIN_FILENO...STDERR_FILENO { close(descriptor) }
      ProcessSetup.openStandardStreams()
      for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 {
        exit(1)
      }
      exit(0)
    }
  }

  @Test(
    "a limit on the size of files is told, and what was imported before is there",
    .disabled(if: ThreadSanitizer.isActive, "it needs a larger file of its own to begin with"))
  func fileSizeLimit() throws {
    try FeedGenerator.write(stopTimes: 20_000, to: folder.path + "/feed")
    // Whoever runs the tests may have the signal ignored, which the program would inherit.
    let command = "ulimit -f 512; exec env --default-signal=XFSZ \"$0\" import feed"
    let (status, output, errors) = try GuideProcess(
      ["-c", command, GuideProcess.executable.path], in: folder, program: URL(filePath: "/bin/sh")
    ).end()
    #expect(status == 74, "\(output)\(errors)")
    #expect(errors.hasPrefix("guide: cannot run"))
    let database = try ImportedDatabase(folder.path + "/feed.sqlite")
    #expect(try database.isSound)
    #expect(try database.tornBatches == 0)
  }

  @Test("a database's name is that of a file, also where SQLite would read more into it")
  func specialNames() throws {
    for name in ["file:db?mode=memory", ":temporary:", "a b'\"\n\u{E4}"] {
      #expect(try guide("import", "--database", name).status == 0)
      #expect(FileManager.default.fileExists(atPath: "\(folder.path)/\(name)"))
    }
  }

  /// How often to cancel; more on request.
  static let cancels = Int(ProcessInfo.processInfo.environment["GUIDE_CANCELS"] ?? "") ?? 6

  @Test("cancelled at a random moment, the database holds whole batches and the rest can follow")
  func cancel() throws {
    let feed = folder.path + "/feed"
    try FeedGenerator.write(stopTimes: 20_000, to: feed)
    var random = SeededGenerator(seed: 1)
    var cancelled = 0
    for round in 0..<Self.cancels {
      let name = "cancelled-\(round).sqlite"
      let process = try GuideProcess(["import", "feed", "--database", name], in: folder)
      // After a random tenth of the feed, and then a random moment later.
      let tenth = Int.random(in: 1...8, using: &random)
      #expect(process.read(until: "progress: \(tenth)0%"))
      usleep(UInt32.random(in: 0...20_000, using: &random))
      process.signal(round % 3 == 2 ? SIGTERM : SIGINT)
      let (status, output, errors) = try process.end()
      #expect(errors.isEmpty)
      let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
      #expect(!files.contains { $0.hasPrefix(name + "-") }, "a log is left")
      let database = try ImportedDatabase(folder.path + "/" + name)
      #expect(try database.isSound)
      #expect(try database.tornBatches == 0)
      #expect(try database.shortBatches == 0)
      let rows = try #require(try database.integer("SELECT count(*) FROM stop_times"))
      // This process may have been held up for so long that the other had come to its end.
      if status == 0 && rows == 20_000 { continue }
      cancelled += 1
      #expect(status == 130, "round \(round): \(output)\(errors)")
      #expect(output.contains("cancelled: \(name) holds whole batches"))
      #expect(rows % 250 == 0)
      #expect(rows < 20_000)
    }
    #expect(cancelled > 0)
    let last = "cancelled-\(Self.cancels - 1).sqlite"
    #expect(try guide("import", "feed", "--database", last).status == 0)
    let database = try ImportedDatabase(folder.path + "/" + last)
    #expect(try database.integer("SELECT count(*) FROM stop_times") == 20_000)
    #expect(try database.tornBatches == 0)
  }

  @Test("killed outright, the database is sound and holds whole batches")
  func kill() throws {
    let feed = folder.path + "/feed"
    try FeedGenerator.write(stopTimes: 20_000, to: feed)
    for tenth in [2, 5] {
      let process = try GuideProcess(
        ["import", "feed", "--database", "\(tenth).sqlite"], in: folder)
      #expect(process.read(until: "progress: \(tenth)0%"))
      process.signal(SIGKILL)
      _ = process.read(until: "never")
      let database = try ImportedDatabase("\(folder.path)/\(tenth).sqlite")
      #expect(try database.isSound)
      #expect(try database.tornBatches == 0)
      #expect(try database.integer("SELECT count(*) FROM stop_times")! > 0)
    }
  }

  @Test(
    "every row of the feed that GUIDE_FEED names is imported, and a second run changes nothing",
    .enabled(if: ProcessInfo.processInfo.environment["GUIDE_FEED"] != nil))
  func namedFeed() throws {
    let feed = try #require(ProcessInfo.processInfo.environment["GUIDE_FEED"])
    #expect(try guide("import", "--database", "db", feed).status == 0)
    let before = try Data(contentsOf: URL(filePath: folder.path + "/db"))
    #expect(try guide("import", "--database", "db", feed).status == 0)
    #expect(try Data(contentsOf: URL(filePath: folder.path + "/db")) == before)
    let database = try ImportedDatabase(folder.path + "/db")
    for table in FeedTable.all {
      guard let bytes = FileManager.default.contents(atPath: "\(feed)/\(table.fileName)") else {
        continue
      }
      #expect(
        try database.integer("SELECT count(*) FROM \(table.name)") == Int64(rows(in: bytes)),
        "\(table.name)")
    }
  }

  /// Rows of a file below its header, counted in another way: line ends outside of quotes that
  /// something stands before.
  private func rows(in bytes: Data) -> Int {
    var rows = 0
    var isQuoted = false
    var lineHasText = false
    for byte in bytes + [0x0A] {
      switch byte {
      case 0x0A where !isQuoted:
        if lineHasText { rows += 1 }
        lineHasText = false
      case 0x0D: break
      default:
        if byte == 0x22 { isQuoted.toggle() }
        lineHasText = true
      }
    }
    return rows - 1
  }
}
