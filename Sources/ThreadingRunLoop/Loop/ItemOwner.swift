internal import Synchronization
internal import ThreadingPlatform

/// To which loop a timer or source belongs: decided once.
@safe
struct ItemOwner: ~Copyable, Sendable {
  // State               | meaning                              | leaves by
  // none = 0            | on no loop yet                       | claim, cancel
  // cancelled = 1       | cancelled before it was on a loop    | never
  // address of items    | on a loop; this word holds a         | never
  //                     | reference to that LoopItems          |
  //
  // SAFETY of @safe: an address in the word is that of items to which the word holds a reference,
  // from the claim to the deinit.
  private let word = Atomic<UInt>(none)
  private static var none: UInt { 0 }
  private static var cancelled: UInt { 1 }

  /// What was found by ``cancel()``.
  enum CancelResult {
    /// The item was on no loop, and will be on none now.
    case wasFree
    /// Somebody has done that before.
    case wasCancelled
    /// The item is on a loop: to be taken off it.
    case isOwned(LoopItems)
  }

  deinit {
    // relaxed: whoever wrote the word has let go of the item before.
    let address = word.load(ordering: .relaxed)
    if address > Self.cancelled { unsafe Self.reference(address).release() }
  }

  /// Gives the item to a loop, with the lock of its items held.
  ///
  /// - Throws: EBUSY when it is on a loop already, ECANCELED when it was cancelled.
  borrowing func claim(for items: LoopItems) throws(ThreadingError) {
    let reference = unsafe Unmanaged.passRetained(items)
    // As a release it hands what the item's initialiser wrote to whoever reads the address.
    // Sequentially consistent: see DescriptorSource.events.
    let (claimed, original) = unsafe word.compareExchange(
      expected: Self.none, desired: UInt(bitPattern: reference.toOpaque()),
      ordering: .sequentiallyConsistent)
    if claimed { return }
    unsafe reference.release()
    throw Self.refusal(original)
  }

  /// Refuses what ``claim(for:)`` would refuse, before anything is done for the item. Whether the
  /// item is free is decided by the claim alone.
  ///
  /// - Throws: EBUSY when it is on a loop already, ECANCELED when it was cancelled.
  borrowing func checkFree() throws(ThreadingError) {
    let seen = word.load(ordering: .relaxed)
    if seen != Self.none { throw Self.refusal(seen) }
  }

  private static func refusal(_ word: UInt) -> ThreadingError {
    if word == cancelled {
      return .refused(
        by: "ThreadRunLoop.add", code: .brokenOff,
        "it was cancelled, which is final; make another one")
    }
    return .refused(
      by: "ThreadRunLoop.add", code: .inUse,
      "it was added to a loop before and belongs to that one; make another one")
  }

  /// Keeps an item that is on no loop from ever being on one.
  borrowing func cancel() -> CancelResult {
    // acquiring: pairs with the release in claim().
    let (done, original) = word.compareExchange(
      expected: Self.none, desired: Self.cancelled, ordering: .acquiring)
    if done { return .wasFree }
    if original == Self.cancelled { return .wasCancelled }
    return unsafe .isOwned(Self.reference(original).takeUnretainedValue())
  }

  /// The items that the item belongs to.
  var items: LoopItems? {
    // As an acquire it pairs with claim(). Sequentially consistent: see DescriptorSource.events.
    let address = word.load(ordering: .sequentiallyConsistent)
    guard address > Self.cancelled else { return nil }
    return unsafe Self.reference(address).takeUnretainedValue()
  }

  /// Does something with the items that the item belongs to; nil if it belongs to none. The item, which
  /// the caller has, keeps them meanwhile: no reference is counted.
  borrowing func withItems<Result>(_ body: (LoopItems) -> Result) -> Result? {
    // acquiring: pairs with claim().
    let address = word.load(ordering: .acquiring)
    guard address > Self.cancelled else { return nil }
    return unsafe Self.reference(address)._withUnsafeGuaranteedRef(body)
  }

  /// Whether the item was cancelled before it was on a loop.
  var isCancelled: Bool { word.load(ordering: .relaxed) == Self.cancelled }

  @unsafe
  private static func reference(_ address: UInt) -> Unmanaged<LoopItems> {
    unsafe Unmanaged.fromOpaque(UnsafeRawPointer(bitPattern: address)!)
  }
}
