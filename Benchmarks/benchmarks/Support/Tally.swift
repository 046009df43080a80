/// A count that has no protection of its own: what makes it right is the lock, or the order of
/// events, that is being measured. A wrong count betrays one that does not hold.
// SAFETY of @safe and @unchecked: the pointer is valid from init to deinit; what it points to is
// guarded by what the workload measures.
@safe
final class Tally: @unchecked Sendable {
  // Its own memory rather than a property, which the compiler would check for overlapping accesses
  // each time; and as much of it that counts of two threads share no cache lines.
  private let cell: UnsafeMutablePointer<Int>

  init() {
    unsafe cell = UnsafeMutableRawPointer.allocate(byteCount: 128, alignment: 128)
      .bindMemory(to: Int.self, capacity: 1)
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
