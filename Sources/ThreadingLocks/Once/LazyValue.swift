/// A value that is made when it is first asked for, once, whichever thread asks.
///
/// Threads that ask while it is being made wait for it. If making it fails, the error goes to the
/// thread that tried, and the next one that asks tries again.
///
/// ```swift
/// let table = LazyValue { expensiveTable() }
/// use(table.value)
/// ```
///
/// - Note: Safe to use from any thread. Making the value happens before any use of it.
public final class LazyValue<Value: Sendable, Failure: Error>: @unchecked Sendable {
  // SAFETY of @unchecked: `flag` orders the one write of the two variables before all reads of
  // `stored`; `make` is only touched by the thread that runs inside the flag.
  private let flag = OnceFlag()
  private var stored: Value?
  private var make: (@Sendable () throws(Failure) -> Value)?

  /// A value that `make` will make.
  ///
  /// - Parameter make: Called at the first use, on the thread that asks, and let go of when it has
  ///   succeeded. It must not ask for the same value: that stops the program.
  public init(_ make: @escaping @Sendable () throws(Failure) -> Value) {
    self.make = make
  }

  /// The value. Costs one atomic load once it is there.
  ///
  /// - Returns: The value, made by this call if by none before.
  /// - Throws: What making it throws.
  public func get() throws(Failure) -> Value {
    try flag.runOnce(makeValue)
    guard let stored else { fatalError("LazyValue: done without a value") }
    return stored
  }

  /// The value if it has been made.
  public var valueIfMade: Value? { flag.isDone ? stored : nil }

  private func makeValue() throws(Failure) {
    guard let make else { return }
    stored = try make()
    self.make = nil
  }
}

extension LazyValue where Failure == Never {
  /// The value. Costs one atomic load once it is there.
  public var value: Value { self.get() }
}
