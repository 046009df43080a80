internal import ThreadingLocks
internal import ThreadingPlatform

/// What stands between a source on a loop and the one task that reads from it: keeps elements until
/// they are asked for, and has the source pause when there are enough of them.
final class LoopFeed<Element: Sendable>: Sendable {
  /// What is read: an element, nil for the end, or an error.
  typealias Reading = Result<Element?, ThreadingError>

  /// How the feed holds its source. Called with the feed's lock held, but for `cancel`.
  struct Control: Sendable {
    let pause: @Sendable () -> Void
    let resume: @Sendable () -> Void
    let cancel: @Sendable () -> Void
  }

  private struct State {
    /// Elements that wait, from `position` on.
    var elements: [Element] = []
    var position = 0
    var reader: CheckedContinuation<Reading, Never>?
    /// What comes after the elements; nil as long as more may come.
    var ending: Reading?
    var isPaused = false
    var control: Control?

    var count: Int { elements.count - position }

    mutating func takeFirst() -> Element {
      let element = elements[position]
      position += 1
      if position == elements.count {
        elements.removeAll(keepingCapacity: true)
        position = 0
      }
      return element
    }
  }

  private let state = Locked(State())
  /// How many elements wait before the source is paused.
  private let limit: Int
  /// Merges an element into one that waits; nil to keep both.
  private let merge: (@Sendable (_ waiting: inout Element, _ new: Element) -> Void)?

  init(limit: Int, merging merge: (@Sendable (inout Element, Element) -> Void)? = nil) {
    self.limit = limit
    self.merge = merge
  }

  /// Says how the source is held. A feed that has ended meanwhile cancels it.
  func setControl(_ control: Control) {
    let hasEnded = state.withLock { state in
      state.control = control
      return state.ending != nil
    }
    if hasEnded { control.cancel() }
  }

  // MARK: On the loop's thread

  /// Hands an element over.
  func send(_ element: Element) {
    let reader = state.withLock { state -> CheckedContinuation<Reading, Never>? in
      if let reader = state.reader {
        state.reader = nil
        return reader
      }
      guard state.ending == nil else { return nil }
      if let merge, state.count > 0 {
        merge(&state.elements[state.position], element)
        return nil
      }
      state.elements.append(element)
      if state.count >= limit, !state.isPaused, let control = state.control {
        state.isPaused = true
        control.pause()
      }
      return nil
    }
    reader?.resume(returning: .success(element))
  }

  /// Ends the feed after what waits. Only the first call counts.
  func end(_ ending: Reading = .success(nil)) {
    let reader = state.withLock { state -> CheckedContinuation<Reading, Never>? in
      guard state.ending == nil else { return nil }
      state.ending = ending
      defer { state.reader = nil }
      // A reader that waits is told of an error now; whoever asks later finds the end.
      if state.reader != nil { state.ending = .success(nil) }
      return state.reader
    }
    reader?.resume(returning: ending)
  }

  // MARK: On the reading task

  /// The next element; nil at the end, and for a task that is cancelled.
  func next(isolation: isolated (any Actor)?) async -> Reading {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        if let reading = read(continuation) { continuation.resume(returning: reading) }
      }
    } onCancel: {
      cancel()
    }
  }

  /// - Returns: what there is; nil if the reader has to wait.
  private func read(_ reader: CheckedContinuation<Reading, Never>) -> Reading? {
    state.withLock { state in
      require(
        state.reader == nil,
        "LoopSequence.Iterator.next: another task waits for the next element; one at a time may")
      if state.count > 0 {
        let element = state.takeFirst()
        if state.isPaused, state.count <= limit / 2, let control = state.control {
          state.isPaused = false
          control.resume()
        }
        return .success(element)
      }
      if let ending = state.ending {
        state.ending = .success(nil)
        return ending
      }
      state.reader = reader
      return nil
    }
  }

  /// Ends the feed at once, drops what waits, and takes the source off its loop.
  func cancel() {
    end()
    let control = state.withLock { state -> Control? in
      state.elements = []
      state.position = 0
      state.ending = .success(nil)
      return state.control
    }
    control?.cancel()
  }
}

/// Ends a feed when the handler that holds it is released: its source was cancelled, or the loop's
/// thread has ended.
final class LoopFeedEnd<Element: Sendable>: Sendable {
  let feed: LoopFeed<Element>
  init(_ feed: LoopFeed<Element>) { self.feed = feed }
  deinit { feed.end() }
}
