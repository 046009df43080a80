// snippet: batches
/// The lines of a file in batches, each of whole lines: as many as were read at once.
struct LineBatches: Sequence, IteratorProtocol {
  static let size = 8_192
  static let longestLine = 65_536

  private let file: InputFile

  /// The beginning of a line, whose end has not been read.
  private var rest: [UInt8] = []
  private var isOver = false

  /// Opens the file.
  ///
  /// - Throws: `FileError` if that is refused.
  init(of path: String) throws(FileError) { file = try InputFile(path: path) }

  mutating func next() -> Result<[UInt8], FileError>? {
    if isOver { return nil }
    do throws(FileError) {
      let batch = try readOn()
      return batch.isEmpty ? nil : .success(batch)
    } catch {
      isOver = true
      return .failure(error)
    }
  }
  // end

  /// Reads until there is a line end, and keeps what comes after the last one; empty at the end.
  private mutating func readOn() throws(FileError) -> [UInt8] {
    var batch = rest
    while true {
      let start = batch.count
      batch += [UInt8](repeating: 0, count: Self.size)
      let count = try file.read(into: &batch, from: start, to: batch.count)
      batch.removeLast(Self.size - count)
      if count == 0 {
        isOver = true
        return batch
      }
      if let end = batch.lastIndex(of: UInt8(ascii: "\n")) {
        rest = Array(batch[(end + 1)...])
        batch.removeLast(rest.count)
        return batch
      }
      if batch.count > Self.longestLine {
        throw FileError(
          action: "read", path: file.path,
          reason: "a line has more than \(Self.longestLine) bytes")
      }
    }
  }
}
