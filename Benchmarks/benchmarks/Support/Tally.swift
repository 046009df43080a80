/// A count that has no protection of its own: what makes it right is the lock, or the order of
/// events, that is being measured. A wrong count betrays one that does not hold.
// SAFETY of @safe and @unchecked: the pointer is valid from init to deinit; what it points to is
// guarded by what the workload measures.
@safe
final class Tally: @unchecked Sendable {
  // Its own memory rather than a property, which the compiler would check for overlapping accesses
  // each time.
  private let cell: UnsafeMutablePointer<Int>

  init() {
    unsafe cell = .allocate(capacity: 1)
    unsafe cell.initialize(to: 0)
  }

  deinit {
    unsafe cell.deallocate()
  }

  @inline(__always)
  var value: Int {
    get { unsafe cell.pointee }
    set { unsafe cell.pointee = newValue }
  }

  @inline(__always)
  func increment() {
    unsafe cell.pointee &+= 1
  }
}
