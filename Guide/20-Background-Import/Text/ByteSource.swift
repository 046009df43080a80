/// Where a reader's bytes come from, one piece at a time.
protocol ByteSource: AnyObject {
  /// Reads some bytes into `window`, from index `start` up to `end` at most.
  ///
  /// - Returns: how many bytes were read; 0 only at the end.
  /// - Throws: `FileError` if the system refuses.
  func read(into window: inout [UInt8], from start: Int, to end: Int) throws(FileError) -> Int
}
