public import CThreadingPlatform
public import Synchronization
internal import ThreadingPlatform

/// A number that many threads add to at high rates, and that is read now and then.
///
/// It is spread over cells that lie on cache lines of their own; a thread adds to the cell that its
/// id leads to, so threads that run at the same time rarely touch the same line. Reading adds the
/// cells up.
///
/// - Note: Safe to use from any thread. It is a figure: it orders nothing, and a sum that is read
///   while others add may miss what they are adding. What is added before a thread is joined is in
///   the sum read after.
@safe
public final class StripedCounter: @unchecked Sendable {
  // SAFETY of @safe and @unchecked: the cells live from init to deinit and are atomic.
  @usableFromInline let cells: UnsafeMutablePointer<StripedCounterCell>
  @usableFromInline let mask: UInt32

  /// A counter at 0.
  ///
  /// - Parameter stripes: How many cells, rounded up to a power of two; nil takes two for each
  ///   processor. Less than 1 or more than 4,096 stops the program.
  public init(stripes: Int? = nil) {
    let wanted = stripes ?? min(2 * Processors.configured, 4_096)
    guard (1...4_096).contains(wanted) else {
      fatalError("StripedCounter: made with \(wanted) stripes; 1 to 4096 are allowed")
    }
    var count = 1
    while count < wanted { count *= 2 }
    unsafe cells = .allocate(capacity: count)
    for index in 0..<count { unsafe (cells + index).initialize(to: StripedCounterCell()) }
    mask = UInt32(count - 1)
  }

  deinit {
    unsafe cells.deinitialize(count: stripes)
    unsafe cells.deallocate()
  }

  /// How many cells there are.
  public var stripes: Int { Int(mask) + 1 }

  /// Adds to the number, wrapping around where it does not fit. Costs one atomic step.
  @inlinable
  public func add(_ amount: Int = 1) {
    let index = Int(ctp_thread_id() & mask)
    // relaxed: a figure that orders nothing.
    unsafe cells[index].value.wrappingAdd(amount, ordering: .relaxed)
  }

  /// The sum of all that has been added. Costs one load for each cell.
  public var sum: Int {
    var sum = 0
    for index in 0..<stripes { unsafe sum &+= cells[index].value.load(ordering: .relaxed) }
    return sum
  }

  /// Reads the sum and sets the number back to 0; what is added meanwhile is in this sum or the
  /// next.
  public func takeSum() -> Int {
    var sum = 0
    for index in 0..<stripes { unsafe sum &+= cells[index].value.exchange(0, ordering: .relaxed) }
    return sum
  }
}

/// 128 bytes: processors fetch lines of 64 in pairs.
@usableFromInline
struct StripedCounterCell: ~Copyable {
  @usableFromInline let value = Atomic<Int>(0)
  private let padding: InlineArray<15, Int> = .init(repeating: 0)
}
