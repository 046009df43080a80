import Threading

/// Reading files that are larger than memory. `README.md` beside this file explains it.
enum LargeFilesChapter: Chapter {
  static let number = 22
  static let name = "largefiles"
  static let title = "Files larger than memory"
  static let folder = "22-Large-Files"
  static let parts = [
    Part("whole") { page in try tell(page) { try tallyWhole($0) } },
    Part("batches") { page in try tell(page) { try tallyInBatches($0) } },
    Part("pipeline") { page in try tell(page) { try tallyByPipeline($0).tally } },
  ]

  /// The sizes of the files, in rounds of 500 lines.
  static let smallFile = 2
  static let largeFile = 100 * smallFile

  static func run(on page: Page) throws {
    try TemporaryFolder.with { folder in
      let files = ["small", "large"].map { "\(folder)/\($0).txt" }
      let small = try Readings.write(rounds: smallFile, to: files[0])
      let large = try Readings.write(rounds: largeFile, to: files[1])
      page.section("A small file, and one 100 times larger (each read by a process of its own)")
      for part in parts {
        let peaks = try zip(files, [small, large]).map { file, expected in
          let (tally, peak) = try ask(part.name, about: file)
          if tally != expected { page.claim("\(part.name) found what is in \(file)", false) }
          return peak
        }
        page.figure(
          part.name,
          peaks.map { "\(Figures.tenths(Double($0) / mebi)) MiB" }
            .joined(separator: ", then "))
        let grew = peaks[1] - peaks[0]
        if part.name == "whole" {
          page.claim(
            "as a whole: memory grew by more than the file's size", grew > large.lines * 64)
        } else if Sanitizer.isThread || Sanitizer.isAddress {
          // A sanitizer keeps books of its own.
          page.skip("\(part.name): memory grew by less than half the file's size")
        } else {
          // Some hundred KiB at most on an idle machine. On a busy one the C library has memory set aside
          // for more of the threads at once.
          page.claim(
            "\(part.name): memory grew by less than half the file's size",
            grew < large.lines * 64 / 2)
        }
      }
      page.section("How many batches at once?")
      let piped = try tallyByPipeline(files[1])
      page.claim("never more than \(underWay) of them", (1...underWay).contains(piped.mostUnderWay))
    }

    page.section("A line without an end")
    page.claim("is refused before it fills the memory", try refusesEndlessLine())

    page.section("A worker that is late, behind a mailbox")
    let lines = 10_000
    let free = try passOn(lines: lines, capacity: nil)
    page.claim(
      "without a bound: all 10,000 lines lay in memory", free.mostWaiting == lines)
    let bounded = try passOn(lines: lines, capacity: 64)
    page.claim("with a bound of 64: never more than 64", bounded.mostWaiting == 64)
    page.claim("the writer was held back", bounded.furthestAhead < lines / 2)
    page.figure("it was ahead by", "\(Figures.grouped(bounded.furthestAhead)) lines at most")
    page.claim("nothing was lost", free.received == lines && bounded.received == lines)
  }

  private static let mebi = 1_048_576.0

  /// In a process of its own: reads standard input one way, and tells what came of it and the most memory
  /// that the process has used.
  private static func tell(_ page: Page, _ way: (String) throws -> Tally) throws {
    let tally = try way("/dev/stdin")
    page.say("\(tally.lines) \(tally.total) \(PeakMemory.bytes ?? 0)")
  }

  /// Has a process of its own read a file.
  private static func ask(_ part: String, about file: String) throws -> (Tally, peak: Int) {
    let child = try ChildProcess.run(part, of: Self.self, input: file)
    let numbers = child.output.split { $0 == " " || $0 == "\n" }.compactMap { Int($0) }
    guard child.status == 0, numbers.count == 3 else {
      throw FileError(
        action: "read", path: file, reason: "the process said: \(child.output)\(child.errors)")
    }
    var tally = Tally()
    tally.lines = numbers[0]
    tally.total = numbers[1]
    return (tally, numbers[2])
  }

  private static func refusesEndlessLine() throws -> Bool {
    try TemporaryFolder.with { folder in
      let path = "\(folder)/endless.txt"
      let file = try OutputFile(path: path)
      for _ in 0..<200 { try file.write(String(repeating: ".", count: 1_000)) }
      try file.finish()
      do {
        _ = try tallyByPipeline(path)
        return false
      } catch let error as FileError {
        return error.reason == "a line has more than \(LineBatches.longestLine) bytes"
      }
    }
  }
}
