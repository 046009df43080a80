public import ThreadingPlatform

/// Calls an object's method on a detached thread of its own: fire and forget.
///
/// ```swift
/// try performInBackground(model, Model.reload)
/// ```
///
/// The object is kept until the method has returned.
///
/// - Parameters:
///   - object: whose method is called.
///   - method: the method, as the type names it.
///   - attributes: what to start the thread with; it is detached whatever they say.
/// - Returns: A handle to watch the thread by, which need not be kept.
/// - Throws: a ``ThreadingError`` when an attribute is out of range or the system refuses. The method is
///   not called then.
@discardableResult
public func performInBackground<Object: AnyObject & Sendable>(
  _ object: Object, _ method: @escaping @Sendable (Object) -> () -> Void,
  attributes: ThreadAttributes = ThreadAttributes()
) throws(ThreadingError) -> ThreadHandle {
  try PosixThread.detach(attributes) { method(object)() }
}
