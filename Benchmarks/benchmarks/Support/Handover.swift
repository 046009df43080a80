import Dispatch

/// One value that one thread gives and another waits for.
// SAFETY of @unchecked: the value is written before the semaphore is signalled and read after.
final class Handover<Value: Sendable>: @unchecked Sendable {
  private var value: Value?
  private let given = DispatchSemaphore(value: 0)

  func give(_ value: Value) {
    self.value = value
    given.signal()
  }

  func take() -> Value {
    given.wait()
    guard let value else { fatalError("Handover.take: nothing was given") }
    return value
  }
}
