/// The chapters, in the order of reading.
enum Book {
  static let chapters: [any Chapter.Type] = [
    ThreadChapter.self,
    CostChapter.self,
    NamesChapter.self,
    ValuesChapter.self,
    RaceChapter.self,
    LocksChapter.self,
    DeadlockChapter.self,
    ConditionsChapter.self,
    MeetingChapter.self,
    AtomicsChapter.self,
    LoopChapter.self,
    SourceChapter.self,
    TalkingChapter.self,
    EndingChapter.self,
    ErrorsChapter.self,
    OperationsChapter.self,
    AsynchronousChapter.self,
    TableChapter.self,
    GraphChapter.self,
    ImportChapter.self,
    DrawingChapter.self,
    LargeFilesChapter.self,
    WaysChapter.self,
    ActorsChapter.self,
    TroubleChapter.self,
  ]

  /// The chapter that a word of the command line means: its number, with zeros before it as in the names of
  /// folders or without, or its name.
  static func chapter(_ word: String) -> (any Chapter.Type)? {
    let number = word.trimmingPrefix { $0 == "0" }
    return chapters.first { word == $0.name || number == String($0.number) }
  }

  /// The chapter of a number that is known to be one.
  static func chapter(_ number: Int) -> any Chapter.Type {
    guard let chapter = chapters.first(where: { $0.number == number }) else {
      preconditionFailure("Book.chapter: there is no chapter \(number)")
    }
    return chapter
  }

  /// The numbers as people write them: `1-15, 20`.
  static var numbers: String {
    var runs: [ClosedRange<Int>] = []
    for number in chapters.map({ $0.number }) {
      if let last = runs.last, last.upperBound + 1 == number {
        runs[runs.count - 1] = last.lowerBound...number
      } else {
        runs.append(number...number)
      }
    }
    return runs.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound)" }
      .joined(separator: ", ")
  }
}
