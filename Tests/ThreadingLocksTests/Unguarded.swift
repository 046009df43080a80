/// Plain memory shared by threads: only the lock under test protects it, so a fault of the lock
/// shows as a wrong value, and as a race under the thread sanitizer.
final class Unguarded<Value>: @unchecked Sendable {
  var value: Value

  init(_ value: Value) {
    self.value = value
  }
}
