public import ThreadingPlatform

extension ThreadRunLoop {
  /// The lines that a descriptor delivers, as ``LineSource`` reads them on this loop's thread.
  ///
  /// It is read no further while 64 lines wait. A line that is too long, or a failed read, is the
  /// error that ends the iteration.
  ///
  /// - Parameters:
  ///   - descriptor: What is read; close it after the iteration.
  ///   - maximumLength: The longest line that is accepted, in bytes; at least 1.
  ///   - modes: The modes in which it is read.
  /// - Returns: The lines, for `for try await`.
  public func lines(
    of descriptor: CInt, maximumLength: Int = 1 << 20, in modes: ModeSet = .common
  ) -> LoopSequence<LineSource.Line> {
    LoopSequence(limit: 64) { (end) throws(ThreadingError) in
      let source = LineSource(descriptor, maximumLength: maximumLength) { _, event in
        switch event {
        case .line(let line): end.feed.send(line)
        case .end: end.feed.end()
        case .failed(let error): end.feed.end(.failure(error))
        }
      }
      return try self.start(source, in: modes)
    }
  }

  /// What can be done with a descriptor, each time that changes to it can.
  ///
  /// The source is edge-triggered, so that a task that has been told reads or writes until the
  /// descriptor would block. Several events that wait are one.
  ///
  /// - Parameters:
  ///   - descriptor: What is watched; close it after the iteration.
  ///   - events: What to watch for.
  ///   - modes: The modes in which it is watched.
  /// - Returns: The events, for `for try await`.
  public func events(
    of descriptor: CInt, for events: DescriptorSource.Events, in modes: ModeSet = .common
  ) -> LoopSequence<DescriptorSource.Events> {
    LoopSequence(limit: .max, merging: { $0.formUnion($1) }) { (end) throws(ThreadingError) in
      let source = DescriptorSource(descriptor, for: events, trigger: .edge) { _, events in
        end.feed.send(events)
        if events.contains(.closed) { end.feed.end() }
      }
      return try self.start(source, in: modes)
    }
  }

  /// The deliveries of a signal to the process: how many there were since the last element.
  ///
  /// As long as an iteration is under way, the signal has no other effect: see ``SignalSource``.
  ///
  /// - Parameters:
  ///   - signal: Its number, such as `SIGINT`.
  ///   - modes: The modes in which it is watched.
  /// - Returns: The numbers of deliveries, for `for try await`.
  public func deliveries(
    of signal: CInt, in modes: ModeSet = .common
  ) -> LoopSequence<Int> {
    LoopSequence(limit: .max, merging: { $0 += $1 }) { (end) throws(ThreadingError) in
      let source = try SignalSource(signal) { _, count in end.feed.send(count) }
      return try self.start(source, in: modes)
    }
  }

  /// The messages that come to one end of a connection, until the other end has gone.
  ///
  /// While 16 messages wait no more are received, and the other end has to wait. A message that is too
  /// long ends the iteration.
  public func messages(
    of socket: MessageSocket, in modes: ModeSet = .common
  ) -> LoopSequence<ReceivedMessage> {
    messages(in: modes) { MessageSource(socket, handler: $0) }
  }

  /// The messages that come to a queue.
  ///
  /// While 16 messages wait no more are received.
  public func messages(
    of queue: NamedMessageQueue, in modes: ModeSet = .common
  ) -> LoopSequence<ReceivedMessage> {
    messages(in: modes) { MessageSource(queue, handler: $0) }
  }

  private func messages(
    in modes: ModeSet,
    _ make: @escaping @Sendable (@escaping MessageSource.Handler) -> MessageSource
  ) -> LoopSequence<ReceivedMessage> {
    LoopSequence(limit: 16) { (end) throws(ThreadingError) in
      let source = make { _, event in
        switch event {
        case .message(let message): end.feed.send(message)
        case .end: end.feed.end()
        case .failed(let error): end.feed.end(.failure(error))
        }
      }
      return try self.start(source, in: modes)
    }
  }

  /// The moments of a timer, again and again.
  ///
  /// One waits at most: those that come while a task has not read it are counted in its
  /// ``ThreadTimer/Firing/missed``.
  ///
  /// - Parameters:
  ///   - interval: The time between two, from zero up.
  ///   - first: The first one; one interval from the beginning of the iteration if nil.
  ///   - tolerance: How much later each may come, from zero up.
  ///   - modes: The modes in which the timer fires.
  /// - Returns: The ticks, for `for try await`.
  public func ticks(
    every interval: Duration, startingAt first: TimerMoment? = nil, tolerance: Duration = .zero,
    in modes: ModeSet = .common
  ) -> LoopSequence<ThreadTimer.Firing> {
    let merge: @Sendable (inout ThreadTimer.Firing, ThreadTimer.Firing) -> Void = { waiting, new in
      waiting = ThreadTimer.Firing(
        timer: waiting.timer, scheduled: waiting.scheduled, moment: waiting.moment,
        missed: waiting.missed + 1 + new.missed)
    }
    return LoopSequence(limit: .max, merging: merge) { (end) throws(ThreadingError) in
      let first = first ?? .now(on: .monotonic).advanced(by: interval)
      let timer = try ThreadTimer(every: interval, startingAt: first, tolerance: tolerance) {
        end.feed.send($0)
      }
      try self.add(timer, in: modes)
      return LoopFeed.Control(
        pause: { timer.pause() }, resume: { timer.resume() }, cancel: { timer.cancel() })
    }
  }

  /// Waits until a moment, by a timer of this loop.
  ///
  /// - Throws: `CancellationError` when the task is cancelled first; ``ThreadingError`` with ESRCH when
  ///   the loop's thread has ended, or ends first, and what adding a timer by another clock is
  ///   refused.
  public func sleep(until moment: TimerMoment, tolerance: Duration = .zero) async throws {
    let sequence = LoopSequence<Void>(limit: 1) { (end) throws(ThreadingError) in
      let timer = try ThreadTimer(at: moment, tolerance: tolerance) { _ in end.feed.send(()) }
      try self.add(timer)
      return LoopFeed.Control(pause: {}, resume: {}, cancel: { timer.cancel() })
    }
    var iterator = sequence.makeAsyncIterator()
    if try await iterator.next() != nil { return }
    try Task.checkCancellation()
    throw ThreadingError.loopEnded("ThreadRunLoop.sleep")
  }

  /// Waits for some time, by a timer of this loop: as ``sleep(until:tolerance:)``.
  public func sleep(for duration: Duration, tolerance: Duration = .zero) async throws {
    try await sleep(
      until: .now(on: .monotonic).advanced(by: duration), tolerance: tolerance)
  }

  private func start<Element>(
    _ source: InputSource, in modes: ModeSet
  ) throws(ThreadingError) -> LoopFeed<Element>.Control {
    try add(source, in: modes)
    return LoopFeed.Control(
      pause: { source.pause() }, resume: { source.resume() }, cancel: { source.cancel() })
  }
}
