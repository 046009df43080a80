/// Says whether bytes are valid UTF-8.
enum UTF8Check {
  /// How many bytes stand before the first that does not belong to valid UTF-8; nil if all do.
  ///
  /// The standard library does the work: overlong forms, halves of surrogate pairs, and sequences
  /// that are cut short or begin in the middle are all found.
  static func firstInvalidByte(of bytes: ArraySlice<UInt8>) -> Int? {
    do {
      _ = try UTF8Span(validating: bytes.span)
      return nil
    } catch {
      return error.byteOffsets.lowerBound
    }
  }
}
