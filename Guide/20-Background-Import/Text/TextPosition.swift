/// A place in a text file, as editors and compilers give it.
struct TextPosition: Equatable, Sendable {
  /// The line, from 1. A line ends with LF, CR LF or CR, also inside a quoted field.
  var line: Int

  /// The byte in the line, from 1. A byte-order mark is not counted.
  var column: Int
}
