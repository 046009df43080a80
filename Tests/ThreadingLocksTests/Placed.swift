/// A value whose end the test decides, even while threads use it: to see misuse found.
@safe
final class Placed<Content: ~Copyable & Sendable>: @unchecked Sendable {
  private let memory: UnsafeMutablePointer<Content>

  init(_ content: consuming Content) {
    unsafe memory = .allocate(capacity: 1)
    unsafe memory.initialize(to: content)
  }

  func use<Result>(_ body: (borrowing Content) -> Result) -> Result {
    unsafe body(memory.pointee)
  }

  func destroy() {
    unsafe memory.deinitialize(count: 1)
  }
}
