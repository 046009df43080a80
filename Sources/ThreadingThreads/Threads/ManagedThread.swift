public import ThreadingPlatform

/// What both families of threads answer to: ``PosixThread`` and `FoundationThread`.
///
/// Code that is generic over it starts threads of either family with the same attributes, and treats
/// them alike.
public protocol ManagedThread<Output, Failure>: AnyObject, Sendable {
  /// What the body returns.
  associatedtype Output: Sendable
  /// What the body throws; `Never` for a body that cannot fail.
  associatedtype Failure: Error

  /// The class of the threads that ``start(_:body:)`` makes: the family's own.
  associatedtype Started: ManagedThread<Output, Failure>

  /// Starts a thread of this family that runs a closure.
  ///
  /// - Parameters:
  ///   - attributes: what to start it with.
  ///   - body: what it runs.
  /// - Returns: the running thread.
  /// - Throws: a ``ThreadingError`` when an attribute is out of range or the system refuses. There
  ///   is no thread then, and `body` has been released without being called.
  static func start(
    _ attributes: ThreadAttributes, body: @escaping @Sendable () throws(Failure) -> Output
  ) throws(ThreadingError) -> Started

  /// What the thread is started with.
  var attributes: ThreadAttributes { get }

  /// The thread as anybody may see it.
  var handle: ThreadHandle { get }

  /// Starts the thread.
  ///
  /// - Throws: a ``ThreadingError`` when an attribute is out of range or the system refuses. There
  ///   is no thread then, and it may be tried again.
  /// - Precondition: The thread was not started before. If it was, the program stops.
  func start() throws(ThreadingError)

  /// Waits for the thread's end and returns how its body ended, at most until a moment.
  ///
  /// - Returns: the body's value or error, or nil when the moment came first.
  /// - Throws: a ``ThreadingError`` when there is nothing to wait for: the thread was not started, is
  ///   detached, or is the calling one.
  func result(until deadline: MonotonicInstant) throws(ThreadingError) -> Result<Output, Failure>?

  /// What the body returned, for asynchronous code: the task is suspended until the thread has finished,
  /// and no thread is blocked meanwhile.
  ///
  /// ```swift
  /// let thread = try PosixThread.start(ThreadAttributes(name: "decoder")) { try decode(data) }
  /// let image = try await thread.value
  /// ```
  ///
  /// Any number of tasks may ask, beside threads that join; each gets the same answer. Everything that
  /// the body wrote, and the release of what the thread had stored, happens before the task goes on.
  ///
  /// - Throws: what the body threw; `CancellationError`, at once, if the waiting task is cancelled before
  ///   the thread has finished (the thread is not asked for anything by that: see ``cancel(reason:)``);
  ///   or a ``ThreadingError`` as `join()`, when there is nothing to wait for. A task that runs on the
  ///   thread itself waits for ever, or until cancelled.
  var value: Output { get async throws }
}

extension ManagedThread {
  /// How far the thread has come.
  ///
  /// Everything that the body wrote happens before ``ThreadState/finished`` is seen here.
  public var state: ThreadState { handle.state }

  /// The thread's name, in full. May be set at any time, from any thread; see ``ThreadHandle/name``.
  public var name: String? {
    get { handle.name }
    set { handle.name = newValue }
  }

  /// Asks the thread to finish early; see ``ThreadHandle/cancel(reason:)``.
  public func cancel(reason: String? = nil) { handle.cancel(reason: reason) }

  /// Whether the thread was asked to finish early.
  public var isCancelled: Bool { handle.isCancelled }
}

extension ManagedThread {
  /// Waits for the thread's end and returns how its body ended.
  ///
  /// - Returns: the body's value or error: every caller gets the same.
  /// - Throws: as ``result(until:)``.
  @available(*, noasync, message: "result() blocks the calling thread")
  public func result() throws(ThreadingError) -> Result<Output, Failure> {
    while true {
      if let result = try result(until: .distantFuture) { return result }
    }
  }

  /// Waits for the thread's end and returns what its body returned.
  ///
  /// Any number of threads may join, any number of times: each gets the same answer. Everything that
  /// the body wrote, and the release of what the thread had stored, happens before this returns.
  ///
  /// - Returns: the body's value.
  /// - Throws: what the body threw; or a ``ThreadingError`` when there is nothing to wait for: the
  ///   thread was not started, is detached, or is the calling one.
  @available(*, noasync, message: "join() blocks the calling thread")
  @discardableResult
  public func join() throws -> Output {
    try result().get()
  }

  /// Waits for the thread's end as `join()` does, at most until a moment.
  ///
  /// - Returns: the body's value, or nil when the moment came first.
  /// - Throws: as `join()`.
  @available(*, noasync, message: "join(until:) blocks the calling thread")
  @discardableResult
  public func join(until deadline: MonotonicInstant) throws -> Output? {
    try result(until: deadline)?.get()
  }

  /// Waits for the thread's end as `join()` does, at most for a time.
  ///
  /// - Returns: the body's value, or nil when the time was over first.
  /// - Throws: as `join()`.
  @available(*, noasync, message: "join(for:) blocks the calling thread")
  @discardableResult
  public func join(for limit: Duration) throws -> Output? {
    try join(until: .now.advanced(by: limit))
  }
}

extension ManagedThread where Failure == Never {
  /// Waits for the end of a thread whose body cannot fail, and returns what it returned.
  ///
  /// - Returns: the body's value; every caller gets the same.
  /// - Throws: a ``ThreadingError`` when there is nothing to wait for: the thread was not started, is
  ///   detached, or is the calling one.
  @available(*, noasync, message: "join() blocks the calling thread")
  @discardableResult
  public func join() throws(ThreadingError) -> Output {
    try result().get()
  }
}
