/// A stretch of a stream, held in memory of fixed size. It moves along the stream and never grows.
///
/// Bytes are asked for by their offset from the start of the stream, so nobody else has to know where
/// in the memory they are.
struct ByteWindow: ~Copyable {
  private let source: any ByteSource
  private let pieceSize: Int
  private var bytes: [UInt8]

  /// The offset of the first byte held.
  private(set) var start = 0

  /// The offset behind the last byte held.
  private(set) var end = 0
  private var sourceIsAtEnd = false

  /// A window that is empty.
  ///
  /// - Parameters:
  ///   - source: the stream.
  ///   - kept: the most bytes that are ever kept when it is filled.
  ///   - pieceSize: the most bytes that are read at once.
  init(_ source: any ByteSource, keeping kept: Int, pieceSize: Int) {
    self.source = source
    self.pieceSize = pieceSize
    bytes = [UInt8](repeating: 0, count: kept + pieceSize)
  }

  /// The byte at an offset that is held.
  subscript(offset: Int) -> UInt8 { bytes[offset - start] }

  /// The bytes at offsets that are held.
  subscript(offsets: Range<Int>) -> ArraySlice<UInt8> {
    bytes[(offsets.lowerBound - start)..<(offsets.upperBound - start)]
  }

  /// Reads a piece behind the bytes held. To make room, it may drop those before `kept`.
  ///
  /// - Returns: false at the end of the stream.
  /// - Throws: `FileError` if the source fails.
  mutating func fill(keepingFrom kept: Int) throws(FileError) -> Bool {
    if sourceIsAtEnd { return false }
    if bytes.count - (end - start) < pieceSize {
      let distance = kept - start
      for index in distance..<(end - start) { bytes[index - distance] = bytes[index] }
      start = kept
    }
    let held = end - start
    let count = try source.read(into: &bytes, from: held, to: min(bytes.count, held + pieceSize))
    sourceIsAtEnd = count == 0
    end += count
    return !sourceIsAtEnd
  }
}
