internal import ThreadingLocks
public import ThreadingRunLoop

/// An operation that tells a delegate, on the thread of a run loop, how its work goes: the parser in the
/// background and the list on the main thread. To be subclassed.
///
/// ```swift
/// protocol ParserDelegate: AnyObject, Sendable {
///   func parser(didRead records: [Record])
///   func parser(didEndWith error: (any Error)?)
/// }
///
/// final class Parser: ReportingOperation<any ParserDelegate>, @unchecked Sendable {
///   override func main() throws {
///     while let batch = try readBatch() {
///       try checkCancellation()
///       tell { $0.parser(didRead: batch) }
///     }
///   }
/// }
///
/// let parser = Parser(delegate: list, on: .main)
/// parser.tellAtEnd { $0.parser(didEndWith: $1.error) }
/// try queue.add(parser)
/// ```
///
/// The delegate is held weakly: a list that is closed meanwhile is told nothing more. Once the operation has been
/// cancelled nothing that it tells arrives any more, also not what is on its way; what is told at the end does.
open class ReportingOperation<Delegate: Sendable>: ThreadOperation, @unchecked Sendable {
  // SAFETY of @unchecked: the base class's; this one adds constants.

  /// The link to the delegate.
  public final let link: LoopDelegate<Delegate>

  /// Whether it was cancelled, for messages that arrive when the operation is gone.
  private let wasCancelled = AtomicFlag()

  /// An operation with a delegate.
  ///
  /// - Parameters:
  ///   - delegate: an object.
  ///   - loop: whose thread is to call it.
  ///   - modes: the modes in which the loop does.
  ///   - name: for messages and listings.
  /// - Precondition: `delegate` is an object, not a value. If not, the program stops.
  public init(
    delegate: Delegate, on loop: ThreadRunLoop = .main, in modes: ThreadRunLoop.ModeSet = .common,
    name: String? = nil
  ) {
    link = LoopDelegate(delegate, on: loop, in: modes)
    super.init(optionalName: name, priority: .normal)
    addCancellationHandler { [wasCancelled] _ in _ = wasCancelled.testAndSet() }
  }

  /// Has the loop's thread call `message` with the delegate, unless that is gone or the operation is cancelled
  /// by then. Messages arrive in order.
  ///
  /// - Parameter message: what to tell.
  /// - Returns: whether the loop has taken the message: false when its thread has ended.
  @discardableResult
  public final func tell(_ message: @escaping @Sendable (Delegate) -> Void) -> Bool {
    link.tell(
      unless: { [weak self, wasCancelled] in self?.isCancelled ?? wasCancelled.isSet }, message)
  }

  /// Has the loop's thread call `message` once, when the operation has finished, whichever way; after everything
  /// that `main()` has told.
  ///
  /// - Parameter message: what to tell; it is handed the operation.
  public final func tellAtEnd(
    _ message: @escaping @Sendable (Delegate, ThreadOperation) -> Void
  ) {
    addCompletion { [link] operation in
      link.tell { message($0, operation) }
    }
  }
}
