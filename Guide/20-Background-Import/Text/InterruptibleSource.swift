/// A source that ends early when it is told to.
///
/// Between two records a reader may have gigabytes of blank lines to pass over, or one line of that
/// length. Whoever wants it to stop need not wait for that, but for a piece. What the reader then
/// finds is not the end of the file, so nothing must be made of it.
final class InterruptibleSource: ByteSource {
  private let source: any ByteSource
  private let isInterrupted: () -> Bool

  /// The bytes of `source`, until `isInterrupted` says so.
  init(_ source: any ByteSource, isInterrupted: @escaping () -> Bool) {
    self.source = source
    self.isInterrupted = isInterrupted
  }

  func read(into window: inout [UInt8], from start: Int, to end: Int) throws(FileError) -> Int {
    isInterrupted() ? 0 : try source.read(into: &window, from: start, to: end)
  }
}
