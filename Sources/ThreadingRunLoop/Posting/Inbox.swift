internal import Synchronization

/// Where other threads leave blocks for a loop: a list with many producers and one consumer that
/// takes all of it at once. Neither side waits for the other.
@safe
struct Inbox: ~Copyable, Sendable {
  // State        | meaning                               | leaves by
  // empty  = 0   | nothing was posted                    | push -> block, close -> closed
  // closed = 1   | the loop's thread has ended; final    | never
  // block        | address of the newest block; each one | push -> block, takeAll -> empty,
  //              | points to the one before it           | close -> closed
  //
  // A block is popped only together with all others, so a push that compares addresses cannot be
  // deceived by one that was freed and allocated anew.
  //
  // SAFETY of @safe: an address in the word is that of a live block that the inbox owns.
  private let head = Atomic<UInt>(0)

  private static var closed: UInt { 1 }

  /// Gives a block to the loop.
  ///
  /// - Returns: false when the inbox is closed; the block is then still the caller's.
  borrowing func push(_ block: UnsafeMutablePointer<PostedBlock>) -> Bool {
    var seen = head.load(ordering: .relaxed)
    while true {
      if seen == Self.closed { return false }
      unsafe block.pointee.next = UnsafeMutablePointer(bitPattern: seen)
      // Sequentially consistent: pairs with isEmpty after WakeWord.beginSleep. The release in it
      // pairs with the acquire in takeAll, for the block and what its poster wrote.
      let (pushed, original) = head.weakCompareExchange(
        expected: seen, desired: UInt(bitPattern: block),
        successOrdering: .sequentiallyConsistent, failureOrdering: .relaxed)
      if pushed { return true }
      seen = original
    }
  }

  /// Takes all blocks, newest first. Only for the loop's thread.
  borrowing func takeAll() -> UnsafeMutablePointer<PostedBlock>? {
    // relaxed: a look that misses a push misses nothing but time (see WakeWord).
    let seen = head.load(ordering: .relaxed)
    if seen == 0 || seen == Self.closed { return nil }
    // acquiring: pairs with push. The word cannot have become empty or closed meanwhile: only the
    // loop's thread does that.
    return unsafe UnsafeMutablePointer(bitPattern: head.exchange(0, ordering: .acquiring))
  }

  /// Refuses blocks from now on and takes those that are left, newest first. Only for the loop's
  /// thread, once.
  borrowing func close() -> UnsafeMutablePointer<PostedBlock>? {
    // acquiring: pairs with push.
    unsafe UnsafeMutablePointer(bitPattern: head.exchange(Self.closed, ordering: .acquiring))
  }

  /// Whether nothing is waiting, after ``WakeWord/beginSleep(inPoll:)``.
  var isEmpty: Bool {
    // Sequentially consistent: pairs with push (see WakeWord).
    let seen = head.load(ordering: .sequentiallyConsistent)
    return seen == 0 || seen == Self.closed
  }

  /// Whether blocks are refused.
  var isClosed: Bool {
    // relaxed: an answer that is late by a moment is right too.
    head.load(ordering: .relaxed) == Self.closed
  }
}
