import Threading

extension TalkingChapter {
  /// Reads lines in a task, from a source on a thread's loop.
  static func readInTask() throws -> [String] {
    let (reading, writer) = try startWriter()
    let reader = try LoopChapter.LoopThread(name: "reader")
    let read = try ActorsChapter.waitForAsync {
      await result { try await lines(of: reading, reader) }
    }
    try reader.end()
    return try writer.join() ? read.get() : []
  }

  private static func lines(
    of reading: Descriptor, _ reader: LoopChapter.LoopThread
  ) async throws -> [String] {
    var lines: [String] = []
    // snippet: task
    for try await line in reader.loop.lines(of: reading.number) {
      lines.append(line.text)
    }
    // end
    return lines
  }

  private static func result<Value>(
    _ body: () async throws -> Value
  ) async -> Result<Value, any Error> {
    do { return .success(try await body()) } catch { return .failure(error) }
  }
}
