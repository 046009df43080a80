internal import ThreadingPlatform
public import ThreadingRunLoop

/// A delegate that is told things on the thread of its run loop, and is not kept alive for that.
///
/// ```swift
/// let link = LoopDelegate(window as any ImportDelegate, on: .main)
/// link.tell { $0.importer(didRead: count) }
/// ```
///
/// What one thread tells arrives in the order in which it was told.
///
/// - Note: All methods may be called from any thread.
public final class LoopDelegate<Delegate: Sendable>: Sendable {
  // A weak reference to the object itself: `Delegate` may be the type of a protocol.
  // SAFETY of nonisolated(unsafe): the object is a `Delegate`, which is Sendable.
  private nonisolated(unsafe) weak let object: AnyObject?
  private let loop: ThreadRunLoop
  private let modes: ThreadRunLoop.ModeSet

  /// A link to a delegate.
  ///
  /// - Parameters:
  ///   - delegate: an object.
  ///   - loop: whose thread is to call it.
  ///   - modes: the modes in which the loop does.
  /// - Precondition: `delegate` is an object, not a value. If not, the program stops.
  public init(
    _ delegate: Delegate, on loop: ThreadRunLoop = .main, in modes: ThreadRunLoop.ModeSet = .common
  ) {
    require(
      type(of: delegate as Any) is AnyClass,
      "LoopDelegate: \(type(of: delegate as Any)) is not a class: its values cannot be held weakly")
    unsafe object = delegate as AnyObject
    self.loop = loop
    self.modes = modes
  }

  /// The delegate; nil once nobody else holds it.
  public var delegate: Delegate? { unsafe object as? Delegate }

  /// Has the loop's thread call `message` with the delegate, if that still exists by then.
  ///
  /// What the caller wrote before happens before the call.
  ///
  /// - Parameter message: what to tell.
  /// - Returns: whether the loop has taken the message: false when its thread has ended.
  @discardableResult
  public func tell(_ message: @escaping @Sendable (Delegate) -> Void) -> Bool {
    tell(unless: { false }, message)
  }

  /// As ``tell(_:)``, but not if `isObsolete` by then.
  func tell(
    unless isObsolete: @escaping @Sendable () -> Bool,
    _ message: @escaping @Sendable (Delegate) -> Void
  ) -> Bool {
    loop.perform(in: modes) { [self] in
      guard !isObsolete(), let delegate else { return }
      message(delegate)
    }
  }
}
