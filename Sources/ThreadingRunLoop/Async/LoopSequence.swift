public import ThreadingPlatform

/// What a source on a loop tells, for a task to read with `for try await`.
///
/// ```swift
/// for try await line in loop.lines(of: descriptor) { handle(line.text) }
/// ```
///
/// Each iteration has a source of its own, which comes onto the loop when the iteration begins and is
/// taken off when it ends: by itself, because the loop over it is left, or because the task is
/// cancelled, which ends the iteration as if the source had come to its end. The loop has to be run by
/// its thread; when that ends, so does the iteration.
///
/// A task that is slower than its source holds it back: when some elements wait, the source is paused
/// until half of them are read. What then happens to more is the source's own affair: a pipe fills
/// up, signals and ticks are counted.
///
/// Elements are handed over by the loop's thread and read on the task's executor.
public struct LoopSequence<Element: Sendable>: AsyncSequence, Sendable {
  /// What ends an iteration with an error: what adding the source, or the source itself, was refused.
  public typealias Failure = ThreadingError

  private let limit: Int
  private let merge: (@Sendable (inout Element, Element) -> Void)?
  /// Makes a source that hands its elements to the feed, and adds it to the loop.
  private let start:
    @Sendable (LoopFeedEnd<Element>) throws(ThreadingError) -> LoopFeed<Element>.Control

  init(
    limit: Int, merging merge: (@Sendable (inout Element, Element) -> Void)? = nil,
    _ start:
      @escaping @Sendable (LoopFeedEnd<Element>) throws(ThreadingError)
      -> LoopFeed<Element>.Control
  ) {
    self.limit = limit
    self.merge = merge
    self.start = start
  }

  /// Begins an iteration.
  public func makeAsyncIterator() -> Iterator {
    let feed = LoopFeed<Element>(limit: limit, merging: merge)
    let end = LoopFeedEnd(feed)
    do throws(ThreadingError) {
      feed.setControl(try start(end))
    } catch {
      feed.end(.failure(error))
    }
    // Until here: its end is that of the feed, without an error.
    withExtendedLifetime(end) {}
    return Iterator(session: Session(feed))
  }

  /// Reads the elements. For one task at a time.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let session: Session

    /// Waits for the next element.
    ///
    /// - Returns: The element; nil when there are no more, and when the task is cancelled.
    /// - Throws: Once, what was refused; the end follows.
    /// - Precondition: No other task waits for the next element of the iteration. If one does, the
    ///   program stops.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(ThreadingError) -> Element? {
      try await session.feed.next(isolation: actor).get()
    }

    /// Waits for the next element, as ``next(isolation:)``.
    public mutating func next() async throws(ThreadingError) -> Element? {
      try await session.feed.next(isolation: nil).get()
    }
  }

  /// Takes the source off its loop when the iteration is over.
  fileprivate final class Session: Sendable {
    let feed: LoopFeed<Element>
    init(_ feed: LoopFeed<Element>) { self.feed = feed }
    deinit { feed.cancel() }
  }
}
