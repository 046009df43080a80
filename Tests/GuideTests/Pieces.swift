@testable import guide

/// Bytes handed out so many at a time.
final class Pieces: ByteSource {
  private var rest: ArraySlice<UInt8>
  private let size: () -> Int

  init(_ bytes: [UInt8], size: @escaping @autoclosure () -> Int) {
    rest = bytes[...]
    self.size = size
  }

  func read(into window: inout [UInt8], from start: Int, to end: Int) throws(FileError) -> Int {
    let count = min(size(), end - start, rest.count)
    window.replaceSubrange(start..<(start + count), with: rest.prefix(count))
    rest = rest.dropFirst(count)
    return count
  }
}

/// What a reader makes of a whole input.
struct Reading: Equatable {
  /// A record or a problem, with the line that it starts on.
  enum Item: Equatable {
    case record(line: Int, [String])
    case problem(Problem.Kind, line: Int, column: Int)
  }

  var items: [Item] = []
  var blankLines = 0
  var offset = 0

  /// The fields of the records alone.
  var records: [[String]] {
    items.compactMap { if case .record(_, let fields) = $0 { fields } else { nil } }
  }

  var problems: [Item] {
    items.filter { if case .problem = $0 { true } else { false } }
  }

  /// Reads all of `bytes`, handed out `pieces` at a time.
  init(
    _ bytes: [UInt8], pieces: @escaping @autoclosure () -> Int, recordLimit: Int = 100,
    pieceSize: Int = 7
  ) throws {
    var reader = CSVReader(
      Pieces(bytes, size: pieces()), recordLimit: recordLimit, pieceSize: pieceSize)
    while true {
      switch try reader.next() {
      case .end:
        blankLines = reader.blankLines
        offset = reader.offset
        return
      case .record:
        var fields: [String] = []
        for field in reader.fields {
          var text: [UInt8] = []
          _ = reader.append(field, to: &text)
          fields.append(String(decoding: text, as: UTF8.self))
        }
        items.append(.record(line: reader.line, fields))
      case .malformed(let problem):
        items.append(
          .problem(problem.kind, line: problem.position.line, column: problem.position.column))
      }
    }
  }
}
