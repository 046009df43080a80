import Threading

extension LargeFilesChapter {
  static let solutions = [
    Solution("some of the lines, into another file, in their order") { page in
      try TemporaryFolder.with { folder in
        _ = try Readings.write(rounds: 20, to: "\(folder)/in.txt")
        let kept = try copy(from: "\(folder)/in.txt", to: "\(folder)/out.txt") { $0 < 10 }
        let numbers = try readNumbers(of: "\(folder)/out.txt")
        page.claim("ten lines of 500 were kept: 200", kept == 200 && numbers.count == 200)
        page.claim(
          "they are in their order", numbers == (0..<200).map { $0 % 10 })
      }
    },
    Solution("sort a file, with a thousand lines in memory") { page in
      try TemporaryFolder.with { folder in
        _ = try Readings.write(rounds: 11, to: "\(folder)/in.txt")
        let pieces = try sort("\(folder)/in.txt", to: "\(folder)/out.txt", in: folder, at: 1_000)
        let numbers = try readNumbers(of: "\(folder)/out.txt")
        page.claim("six pieces were sorted and merged", pieces == 6)
        page.claim(
          "5,500 lines are in order", numbers == (0..<5_500).map { $0 / 11 })
      }
    },
  ]

  /// Copies the lines whose number is as wanted.
  ///
  /// - Returns: how many there were.
  static func copy(
    from source: String, to target: String, where isWanted: @escaping @Sendable (Int) -> Bool
  ) throws -> Int {
    let file = Locked((output: try OutputFile(path: target), kept: 0))
    try WorkPipeline(of: Result<[UInt8], FileError>.self)
      .parallel { batch in lines(in: try batch.get()).filter { isWanted(number(of: $0)) } }
      .inOrder { lines in
        try file.withLock { file in
          for line in lines { try file.output.write(line) }
          file.kept += lines.count
        }
      }
      .run(try LineBatches(of: source), inFlight: underWay)
    return try file.withLock { file in
      try file.output.finish()
      return file.kept
    }
  }

  /// Sorts a file by the numbers of its lines: in pieces, each in a file of its own, which are merged.
  ///
  /// - Returns: how many pieces there were.
  static func sort(
    _ source: String, to target: String, in folder: String, at most: Int
  ) throws -> Int {
    var pieces: [String] = []
    var piece: [[UInt8]] = []
    var lines = LineByLine(try LineBatches(of: source))
    while let line = try lines.next() {
      piece.append(line)
      if piece.count == most { try write(&piece) }
    }
    if !piece.isEmpty { try write(&piece) }
    var sources = try pieces.map { LineByLine(try LineBatches(of: $0)) }
    var heads = try sources.indices.map { try sources[$0].next() }
    let output = try OutputFile(path: target)
    while let next = heads.indices.filter({ heads[$0] != nil })
      .min(by: { number(of: heads[$0]!) < number(of: heads[$1]!) })
    {
      try output.write(heads[next]!)
      heads[next] = try sources[next].next()
    }
    try output.finish()
    return pieces.count

    func write(_ piece: inout [[UInt8]]) throws {
      pieces.append("\(folder)/piece-\(pieces.count)")
      let file = try OutputFile(path: pieces.last!)
      for line in piece.sorted(by: { number(of: $0) < number(of: $1) }) { try file.write(line) }
      try file.finish()
      piece = []
    }
  }

  /// The lines of a file, one at a time.
  private struct LineByLine {
    private var batches: LineBatches
    private var waiting: ArraySlice<[UInt8]> = []

    init(_ batches: LineBatches) { self.batches = batches }

    mutating func next() throws -> [UInt8]? {
      if waiting.isEmpty, let batch = try batches.next()?.get() {
        waiting = LargeFilesChapter.lines(in: batch)[...]
      }
      return waiting.popFirst()
    }
  }

  /// The lines of a batch, with their ends.
  private static func lines(in batch: [UInt8]) -> [[UInt8]] {
    batch.split(separator: UInt8(ascii: "\n")).map { $0 + [UInt8(ascii: "\n")] }
  }

  private static func number(of line: [UInt8]) -> Int {
    line.prefix { $0 != UInt8(ascii: " ") }.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
  }

  private static func readNumbers(of path: String) throws -> [Int] {
    try LineBatches(of: path).flatMap { lines(in: try $0.get()) }.map(number)
  }
}
