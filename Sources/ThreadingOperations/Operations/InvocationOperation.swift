/// An operation that calls one method of an object with one argument, and keeps what it returns or throws.
///
/// ```swift
/// final class Parser: Sendable {
///   func count(in text: String) throws -> Int { text.count }
/// }
///
/// let invocation = InvocationOperation(Parser(), Parser.count, "four")
/// try queue.add(invocation)
/// print(try invocation.value())
/// ```
///
/// The object and the argument are released when the operation has finished.
public final class InvocationOperation<Target: Sendable, Argument: Sendable, Value: Sendable>:
  ResultOperation<Value>, @unchecked Sendable
{
  // SAFETY of @unchecked: the base class's; this one adds nothing that is stored.

  /// An operation that will call `method` of `target` with `argument`.
  ///
  /// - Parameters:
  ///   - target: whose method is called.
  ///   - method: the method, written as `Type.method`.
  ///   - argument: what it is called with.
  ///   - name: for messages and listings.
  public init(
    _ target: Target, _ method: @escaping @Sendable (Target) -> (Argument) throws -> Value,
    _ argument: Argument, name: String? = nil
  ) {
    super.init(name: name) { try method(target)(argument) }
  }
}

extension InvocationOperation where Argument == Void {
  /// An operation that will call a method without an argument.
  ///
  /// - Parameters:
  ///   - target: whose method is called.
  ///   - method: the method, written as `Type.method`.
  ///   - name: for messages and listings.
  public convenience init(
    _ target: Target, _ method: @escaping @Sendable (Target) -> () throws -> Value,
    name: String? = nil
  ) {
    self.init(target, { target in { _ in try method(target)() } }, (), name: name)
  }
}
