/// Reads comma-separated records from a stream of bytes, one at a time, in bounded memory.
///
/// The reader works on bytes. (In Swift CR LF is a *single* `Character`, so splitting a `String` at
/// `"\n"` finds no line end in a file written on Windows.) It reads a piece at a time into a
/// ``ByteWindow`` and finds the fields of a record in place.
///
/// Understood are: a UTF-8 byte-order mark; lines that end with LF, CR LF or CR, and a last line
/// without an end; quoted fields with commas, doubled quotes and line ends in them; empty fields;
/// blank lines, which are counted and passed over.
///
/// **Recovery.** A record that cannot be read is a problem, not the end. After a damaged quoted field
/// reading goes on at the line below the one on which the field's opening quote stands, so one
/// forgotten quote costs one line and not the rest of the file.
struct CSVReader: ~Copyable {
  /// What a call of ``next()`` found.
  enum Outcome: Equatable {
    /// A record; its fields can be asked for until the next call.
    case record
    /// A record that cannot be read. It was passed over.
    case malformed(Problem)
    case end
  }

  /// The largest record, in bytes, with its line end.
  static let defaultRecordLimit = 65_536

  /// How many bytes are read at once.
  static let defaultPieceSize = 65_536

  /// Blank lines passed over so far: those that are empty or hold only spaces and tabs.
  private(set) var blankLines = 0

  /// The line on which the current record starts.
  private(set) var line = 1

  /// The fields of the current record.
  private(set) var fields: [CSVField] = []

  private var window: ByteWindow
  private let recordLimit: Int

  /// Where the current record starts, as an offset from the start of the source.
  private var start = 0

  /// The byte that is looked at next.
  private var cursor = 0

  /// How far the reader has come, in bytes of the source. Once a record is found, it is where the next
  /// one starts.
  private(set) var offset = 0
  private var nextLine = 1

  /// The last record ended with a CR: an LF that comes next belongs to it.
  private var owesLineFeed = false
  private var state = State.fieldStart

  /// A quoted field of the record holds a line end.
  private var spansLines = false

  /// The bits of all bytes of the record: above 127, it is more than ASCII.
  private var seenBits: UInt8 = 0

  /// The states of the machine, and what the byte at hand does in each:
  ///
  /// | state        | quote        | comma        | line end     | other           |
  /// |--------------|--------------|--------------|--------------|-----------------|
  /// | `fieldStart` | `quoted`     | (as `plain`) | (as `plain`) | (as `plain`)    |
  /// | `plain`      | is text      | `fieldStart` | record ends  | is text         |
  /// | `quoted`     | `quoteSeen`  | is text      | is text      | is text         |
  /// | `quoteSeen`  | `quoted`     | `fieldStart` | record ends  | problem         |
  private enum State {
    case fieldStart
    case plain
    case quoted
    case quoteSeen
  }

  /// What scanning the bytes at hand came to.
  private enum Scan {
    case recordEnded
    case needsBytes
    case bytesAfterQuote
  }

  /// A reader of `source`. The memory it holds is the record limit and one piece.
  init(
    _ source: any ByteSource, recordLimit: Int = defaultRecordLimit,
    pieceSize: Int = defaultPieceSize
  ) {
    precondition(recordLimit > 0 && pieceSize > 0, "CSVReader: limit and piece must be above 0")
    self.recordLimit = recordLimit
    // The mark at the head of a file needs three bytes at once.
    window = ByteWindow(source, keeping: max(recordLimit, 3), pieceSize: pieceSize)
  }

  /// Reads the next record that is not blank.
  ///
  /// - Throws: `FileError` if the source fails. The reader cannot be used after that.
  mutating func next() throws(FileError) -> Outcome {
    while true {
      guard try beginRecord() else { return .end }
      switch try readRecord() {
      case .record where isBlank: blankLines += 1
      case let outcome: return outcome
      }
    }
  }

  /// Where the given byte of the current record stands.
  ///
  /// - Parameter offset: the byte's distance from the start of the record.
  /// - Returns: line and column.
  func position(at offset: Int) -> TextPosition {
    var position = TextPosition(line: line, column: 1)
    for index in start..<(start + offset) {
      if endsLine(index) {
        position.line += 1
        position.column = 1
      } else {
        position.column += 1
      }
    }
    return position
  }

  /// Whether a line ends with the byte at `index`: of CR LF it is the LF.
  private func endsLine(_ index: Int) -> Bool {
    switch window[index] {
    case .lineFeed: true
    case .carriageReturn: !(index + 1 < window.end && window[index + 1] == .lineFeed)
    default: false
    }
  }

  /// Where the last byte of the record's text is followed by its end.
  var endPosition: TextPosition {
    let last = fields[fields.count - 1]
    return position(at: last.isQuoted ? last.end + 1 : last.end)
  }

  /// Appends a field's text to `bytes`, without the quotes around it and with doubled quotes made
  /// single.
  ///
  /// - Returns: where in `bytes` the text went.
  func append(_ field: CSVField, to bytes: inout [UInt8]) -> Range<Int> {
    let first = bytes.count
    guard field.hasDoubledQuotes else {
      bytes.append(contentsOf: window[(start + field.start)..<(start + field.end)])
      return first..<bytes.count
    }
    var index = start + field.start
    while index < start + field.end {
      bytes.append(window[index])
      // The second of two quotes is passed over.
      index += window[index] == .quote ? 2 : 1
    }
    return first..<bytes.count
  }
}

// MARK: - One record

extension CSVReader {
  /// Moves to the start of the next record.
  ///
  /// - Returns: false at the end of the source.
  /// - Throws: `FileError` if the source fails.
  private mutating func beginRecord() throws(FileError) -> Bool {
    start = offset
    cursor = offset
    line = nextLine
    if window.end == 0 { try skipByteOrderMark() }
    while cursor == window.end {
      guard try fill() else { return false }
    }
    if owesLineFeed {
      owesLineFeed = false
      if window[cursor] == .lineFeed {
        offset += 1
        return try beginRecord()
      }
    }
    fields.removeAll(keepingCapacity: true)
    state = .fieldStart
    seenBits = 0
    spansLines = false
    return true
  }

  private mutating func skipByteOrderMark() throws(FileError) {
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    while window.end < mark.count {
      guard try fill() else { return }
    }
    guard window[0..<mark.count].elementsEqual(mark) else { return }
    start = mark.count
    cursor = mark.count
    offset = mark.count
  }

  private mutating func readRecord() throws(FileError) -> Outcome {
    while true {
      switch scan() {
      case .recordEnded:
        return checkedRecord()
      case .bytesAfterQuote:
        let position = position(at: cursor - start)
        try passOverLine(from: start + fields[fields.count - 1].start - 1)
        return .malformed(
          Problem(
            kind: .bytesAfterQuote, position: position,
            reason: "a closing quote must be followed by a comma or the end of the line"))
      case .needsBytes:
        if cursor - start == recordLimit { return try passOverLongRecord() }
        if try fill() { continue }
        if state == .quoted {
          return try passOverOpenQuote("the quote that opens here is never closed")
        }
        endLastField()
        finish(at: cursor, lineEnd: 0)
        return checkedRecord()
      }
    }
  }

  /// Runs the state machine over the bytes at hand.
  private mutating func scan() -> Scan {
    let limit = min(window.end, start + recordLimit)
    while cursor < limit {
      switch state {
      case .fieldStart:
        let isQuoted = window[cursor] == .quote
        let first = cursor - start + (isQuoted ? 1 : 0)
        fields.append(CSVField(start: first, end: first, isQuoted: isQuoted))
        state = isQuoted ? .quoted : .plain
        if isQuoted { cursor += 1 }
      case .plain:
        cursor = endOfPlainText(limit)
        if cursor < limit, endField(with: cursor) { return .recordEnded }
      case .quoted:
        cursor = endOfQuotedText(limit)
        if cursor < limit {
          state = .quoteSeen
          cursor += 1
        }
      case .quoteSeen:
        switch window[cursor] {
        case .quote:
          fields[fields.count - 1].hasDoubledQuotes = true
          state = .quoted
          cursor += 1
        case .comma, .lineFeed, .carriageReturn:
          if endField(with: cursor - 1) { return .recordEnded }
        default:
          return .bytesAfterQuote
        }
      }
    }
    return .needsBytes
  }

  private mutating func endOfPlainText(_ limit: Int) -> Int {
    var index = cursor
    var bits = seenBits
    while index < limit {
      let byte = window[index]
      if byte == .comma || byte == .lineFeed || byte == .carriageReturn { break }
      bits |= byte
      index += 1
    }
    seenBits = bits
    return index
  }

  private mutating func endOfQuotedText(_ limit: Int) -> Int {
    var index = cursor
    var bits = seenBits
    while index < limit {
      let byte = window[index]
      if byte == .quote { break }
      if byte == .lineFeed || byte == .carriageReturn { spansLines = true }
      bits |= byte
      index += 1
    }
    seenBits = bits
    return index
  }

  /// Ends the field whose text ends before index `end`; `cursor` is at a comma or a line end.
  ///
  /// - Returns: whether the record ended too.
  private mutating func endField(with end: Int) -> Bool {
    fields[fields.count - 1].end = end - start
    if window[cursor] == .comma {
      state = .fieldStart
      cursor += 1
      return false
    }
    finish(at: cursor, lineEnd: 1)
    return true
  }

  /// Ends the field at the end of the source. A record that ends with a comma has an empty field
  /// after it.
  private mutating func endLastField() {
    if state == .fieldStart { fields.append(CSVField(start: cursor - start, end: 0)) }
    fields[fields.count - 1].end = cursor - start - (state == .quoteSeen ? 1 : 0)
  }

  /// Notes where the next record starts.
  private mutating func finish(at end: Int, lineEnd: Int) {
    owesLineFeed = lineEnd > 0 && window[end] == .carriageReturn
    nextLine = (spansLines ? position(at: end - start).line : line) + 1
    offset = end + lineEnd
  }

  /// The record just found, if its text is valid.
  private func checkedRecord() -> Outcome {
    guard seenBits > 127 else { return .record }
    guard let bad = UTF8Check.firstInvalidByte(of: window[start..<offset]) else { return .record }
    return .malformed(
      Problem(
        kind: .invalidUTF8, position: position(at: bad),
        reason:
          "the byte \(Printable.hexadecimal(window[start + bad])) does not belong to UTF-8 text here"
      ))
  }

  private var isBlank: Bool {
    guard fields.count == 1, !fields[0].isQuoted else { return false }
    return window[(start + fields[0].start)..<(start + fields[0].end)]
      .allSatisfy { $0 == .space || $0 == .tab }
  }
}

// MARK: - Records that cannot be read

extension CSVReader {
  /// The record has not ended within the limit.
  private mutating func passOverLongRecord() throws(FileError) -> Outcome {
    if state == .quoted {
      return try passOverOpenQuote(
        "the quote that opens here is not closed within \(recordLimit) bytes")
    }
    let position = position(at: 0)
    try passOverLine(from: cursor)
    return .malformed(
      Problem(
        kind: .recordTooLong, position: position,
        reason: "the record that starts here is longer than \(recordLimit) bytes"))
  }

  private mutating func passOverOpenQuote(_ reason: String) throws(FileError) -> Outcome {
    let quote = fields[fields.count - 1].start - 1
    let position = position(at: quote)
    try passOverLine(from: start + quote)
    return .malformed(Problem(kind: .unterminatedQuote, position: position, reason: reason))
  }

  /// Passes over the rest of the line in which the byte at `index` stands.
  ///
  /// Most often the line's end is in the window, and reading goes back to it. The end of a line that
  /// is longer than the window is looked for piece by piece.
  private mutating func passOverLine(from index: Int) throws(FileError) {
    nextLine = position(at: index - start).line + 1
    cursor = index
    while true {
      while cursor < window.end
        && !(window[cursor] == .lineFeed || window[cursor] == .carriageReturn)
      {
        cursor += 1
      }
      if cursor < window.end { break }
      // Nothing of the line has to be kept.
      start = cursor
      guard try fill() else {
        offset = cursor
        return
      }
    }
    owesLineFeed = window[cursor] == .carriageReturn
    offset = cursor + 1
  }

  /// Reads a piece more, keeping what is held of the current record.
  ///
  /// - Returns: false at the end of the source.
  /// - Throws: `FileError` if the source fails.
  private mutating func fill() throws(FileError) -> Bool {
    try window.fill(keepingFrom: start)
  }
}
