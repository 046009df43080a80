internal import ThreadingLocks

/// The memory that ``parallelMap(_:on:piece:_:)`` fills, and which parts of it have been filled.
@safe
@usableFromInline
final class MappedRoom<Value: Sendable>: @unchecked Sendable {
  // SAFETY of @safe and @unchecked: the pointer is valid while the map runs; each place is written by the one
  // thread that was handed its piece, and read after all have ended. `filled` is guarded.
  @usableFromInline let base: UnsafeMutablePointer<Value>
  private let filled = Locked<[Range<Int>]>([])

  @usableFromInline
  init(_ base: UnsafeMutablePointer<Value>) { unsafe self.base = unsafe base }

  @inlinable
  func put(_ value: consuming Value, at place: Int) {
    unsafe (base + place).initialize(to: value)
  }

  /// Remembers what has been filled.
  @usableFromInline
  func note(_ range: Range<Int>) { filled.withLock { $0.append(range) } }

  /// Releases what has been filled.
  @usableFromInline
  func clear() {
    for range in filled.withLock({ $0 }) {
      unsafe (base + range.lowerBound).deinitialize(count: range.count)
    }
  }
}
