public import CThreadingPlatform
public import ThreadingPlatform

extension ThreadHandle {
  /// Asks the thread to finish early. Nothing is interrupted: the thread's code looks at
  /// ``isCancelled`` or calls ``checkCancellation()`` where it can stop; its sleeps, its waits of the
  /// family `...UnlessCancelled` and the runs of its run loop end.
  ///
  /// May be called at any time, also before the start. The first call counts; the thread stays
  /// cancelled, and the reason stays.
  ///
  /// When the call that counts returns, the thread sleeps in no such wait any more. It calls the handlers
  /// of ``onCancel(_:)``, on the calling thread, in the order in which they were added. Further calls
  /// return at once, which may be before.
  ///
  /// - Parameter reason: what ``cancellationReason`` and ``ThreadCancelled`` say.
  public func cancel(reason: String? = nil) {
    if isLostToFork {
      cancellation.cancelLost(reason: reason)
    } else {
      cancellation.cancel(reason: reason)
    }
  }

  /// Whether the thread was asked to finish early. Costs a load.
  ///
  /// What was written before ``cancel(reason:)`` happens before true is seen here.
  @inlinable
  public var isCancelled: Bool { cancellation.isAsked }

  /// The reason that was given when the thread was cancelled, if any.
  public var cancellationReason: String? { cancellation.reason }

  /// Has `handler` called once when the thread is cancelled, on the thread that cancels it; at once, on
  /// the calling thread, if it is cancelled already.
  ///
  /// This is how a wait is made to end on cancellation: the handler does what wakes it. Handlers of an
  /// ended thread are dropped.
  ///
  /// - Parameter handler: must not wait for the thread that it is about.
  /// - Returns: what takes the handler back.
  @discardableResult
  public func onCancel(_ handler: @escaping @Sendable () -> Void) -> CancellationHandler {
    // A thread that a fork has left behind is as one that has ended.
    let number = isLostToFork ? (isCancelled ? nil : 0) : cancellation.add(handler)
    if number == nil { handler() }
    return CancellationHandler(of: self, number)
  }
}

extension ThreadHandle {
  /// Throws if the calling thread was asked to finish early. Costs a thread-local read and a load.
  ///
  /// - Throws: ``ThreadCancelled`` with the reason.
  @inlinable
  public static func checkCancellation() throws(ThreadCancelled) {
    guard let record = unsafe ctp_get_thread_record() else {
      return try checkCancellationWithoutHandle()
    }
    // SAFETY: only handles are put there, see ThreadRecordSlot, and it stays there during the call.
    let isCancelled = unsafe Unmanaged<ThreadHandle>.fromOpaque(record)._withUnsafeGuaranteedRef {
      $0.isCancelled
    }
    if isCancelled { throw ThreadCancelled(reason: current.cancellationReason) }
  }

  /// Of the threads that have not taken up their handle, only the main one can have been cancelled.
  @inline(never)
  @usableFromInline
  static func checkCancellationWithoutHandle() throws(ThreadCancelled) {
    if main.isCancelled && main.isCurrentMain {
      throw ThreadCancelled(reason: main.cancellationReason)
    }
  }

  /// Sleeps until a moment, or until the calling thread is asked to finish early.
  ///
  /// Returns at once for a moment that has passed, but still throws if the thread is cancelled.
  ///
  /// - Throws: ``ThreadCancelled`` with the reason.
  @available(*, noasync, message: "sleep(until:) blocks the calling thread")
  public static func sleep(until deadline: MonotonicInstant) throws(ThreadCancelled) {
    let me = current
    if me.cancellation.interruption.sleep(until: deadline) {
      throw ThreadCancelled(reason: me.cancellationReason)
    }
  }

  /// Sleeps for a time, or until the calling thread is asked to finish early.
  ///
  /// - Throws: ``ThreadCancelled`` with the reason.
  @available(*, noasync, message: "sleep(for:) blocks the calling thread")
  public static func sleep(for duration: Duration) throws(ThreadCancelled) {
    try sleep(until: .now.advanced(by: duration))
  }

  /// Runs `body` on the calling thread, with `handler` called once if the thread is cancelled
  /// meanwhile; at once if it is cancelled already.
  ///
  /// When this returns, the handler is not running and will not run.
  ///
  /// - Parameters:
  ///   - handler: called on the thread that cancels; must not wait for the thread it is about.
  ///   - body: what is to be done.
  /// - Returns: what `body` returned.
  /// - Throws: what `body` threw.
  public static func withCancellationHandler<Output: ~Copyable, Failure: Error>(
    _ handler: @escaping @Sendable () -> Void, run body: () throws(Failure) -> Output
  ) throws(Failure) -> Output {
    let registration = current.onCancel(handler)
    defer { registration.remove() }
    return try body()
  }
}
