public import CThreadingPlatform
public import Synchronization
public import ThreadingPlatform

/// Words on cache lines of their own, by which threads hold a ``ReadWriteLock`` for reading without
/// writing to anything that others read.
///
/// The idea is that of biased reader-writer locks (Dice and Kogan: BRAVO, 2019), with words of the
/// lock's own in place of a table for the whole process, so that a writer has few to look at.
///
/// The lock keeps the stripes as one number:
///
/// number             | meaning                                  | leaves by
/// -------------------|------------------------------------------|----------------------------------
/// 1                  | there are none                           | a reader that holds the word -> on
/// address + 2 * log  | on: readers may take stripes             | a writer -> off
/// the same + 1       | off: readers must not, may still have    | a reader that holds the word -> on
///
/// and each stripe as one word:
///
/// stripe             | meaning                                  | leaves by
/// -------------------|------------------------------------------|----------------------------------
/// 0                  | free                                     | a reader's thread id
/// thread id          | that thread reads, if the stripes were   | that thread -> 0; a writer adds the
///                    | on after it has written this             | bit
/// thread id + bit    | and a writer may sleep until it leaves   | that thread -> 0, and wakes
///
/// A reader takes its stripe, then looks whether the stripes are on; a writer turns them off, then looks
/// at the stripes. All four are sequentially consistent: whichever comes second sees the first. They are
/// turned on only by a reader that holds the lock by its word, so never while a writer does.
///
/// A writer that waits has the word first, and keeps all others out while it waits for the stripes. One
/// that only tries must not: it may yet fail, and would have refused others for nothing. So it looks
/// first and takes the word then; that the stripes were not turned on in between it knows by the turns,
/// which are counted in the word by the reader that turns them on.
@usableFromInline
struct ReaderStripes {
  @usableFromInline let number: UInt

  @inlinable static var none: UInt { 1 }
  @inlinable static var off: UInt { 1 }
  /// Bytes from stripe to stripe: processors fetch lines of 64 in pairs.
  @inlinable static var stride: UInt { 128 }
  @inlinable static var waiting: UInt32 { 1 << 31 }

  /// - Parameter number: What the lock keeps; nil if that is ``none``.
  @inlinable
  init?(_ number: UInt) {
    guard number != Self.none else { return nil }
    self.number = number
  }

  /// New stripes, free and off.
  init() {
    let wanted = min(2 * Processors.configured, 128)
    var log: UInt = 0
    while 1 << log < wanted { log += 1 }
    let block = UnsafeMutableRawPointer.allocate(
      byteCount: Int(Self.stride) << log, alignment: Int(Self.stride))
    for index in 0..<(1 << log) {
      unsafe (block + index * Int(Self.stride)).bindMemory(to: Stripe.self, capacity: 1)
        .initialize(to: Stripe())
    }
    number = UInt(bitPattern: block) | log << 1 | Self.off
  }

  @inlinable
  static func areOn(_ number: UInt) -> Bool { number & off == 0 }

  @inlinable var count: UInt { 1 << ((number & (Self.stride - 1)) >> 1) }

  /// The stripe that a thread may take. Others may be led to the same one.
  @inlinable
  func withStripe<Result>(_ index: UInt, _ body: (borrowing Atomic<UInt32>) -> Result) -> Result {
    let address = (number & ~(Self.stride - 1)) + (index & (count - 1)) * Self.stride
    // SAFETY: the block lives until the lock is destroyed, and holds stripes at these places.
    return unsafe body(
      UnsafePointer<Stripe>(bitPattern: address).unsafelyUnwrapped.pointee.word)
  }

  /// A thread that reads by a stripe; nil if none does.
  var firstReader: UInt32? {
    for index in 0..<count {
      // sequentially consistent: pairs with the taking of a stripe, see above; and acquiring: pairs
      // with the release of a reader that left.
      let reader = withStripe(index) { $0.load(ordering: .sequentiallyConsistent) }
      if reader != 0 { return reader & ~Self.waiting }
    }
    return nil
  }

  /// For the lock that is destroyed.
  func free() {
    let block = number & ~(Self.stride - 1)
    unsafe UnsafeMutableRawPointer(bitPattern: block).unsafelyUnwrapped.deallocate()
  }

  @usableFromInline
  struct Stripe: ~Copyable {
    @usableFromInline let word = Atomic<UInt32>(0)
  }
}

extension ReadWriteLock {
  /// Takes the calling thread's stripe, if it is free and the stripes are still on then.
  @inlinable
  borrowing func takeStripe(_ number: UInt) -> Bool {
    guard let stripes = ReaderStripes(number) else { return false }
    let me = ctp_thread_id()
    return stripes.withStripe(UInt(me)) { stripe in
      // sequentially consistent, both: see `ReaderStripes`. The second also acquires, what the writer
      // wrote after whom the stripes were turned on.
      guard
        stripe.compareExchange(expected: 0, desired: me, ordering: .sequentiallyConsistent)
          .exchanged
      else { return false }
      if self.stripes.load(ordering: .sequentiallyConsistent) == number { return true }
      Self.free(stripe)
      return false
    }
  }

  /// Gives the calling thread's stripe back, if it has it.
  @inlinable
  borrowing func leaveStripe(_ number: UInt) -> Bool {
    guard let stripes = ReaderStripes(number) else { return false }
    let me = ctp_thread_id()
    return stripes.withStripe(UInt(me)) { stripe in
      // relaxed: only the thread itself can find its own id, which it wrote.
      guard stripe.load(ordering: .relaxed) & ~ReaderStripes.waiting == me else { return false }
      Self.free(stripe)
      return true
    }
  }

  @inlinable
  static func free(_ stripe: borrowing Atomic<UInt32>) {
    // releasing: what we read happens before the next writer writes.
    let before = stripe.exchange(0, ordering: .releasing)
    if before & ReaderStripes.waiting != 0 { wakeWriter(stripe) }
  }

  @usableFromInline
  static func wakeWriter(_ stripe: borrowing Atomic<UInt32>) {
    Futex.wake(stripe, count: 1)
  }

  /// Readers that have to have got in each other's way, before they get stripes.
  private static var collisionsForStripes: Int32 { 64 }
  /// The same for each stripe after a writer has taken them back: a collision costs about what a look
  /// at a stripe does, so what the writer has spent has been lost several times by then.
  private static var collisionsForEachStripe: Int32 { 4 }

  /// Takes the word for reading, when another thread has changed it in between.
  @usableFromInline
  borrowing func readCollided() -> Bool {
    var tries: Int32 = 1
    var seen = word.load(ordering: .relaxed)
    while seen & (Self.queued | Self.writer) == 0 {
      // acquiring: pairs with the release of the writer that left.
      let (taken, original) = word.weakCompareExchange(
        expected: seen, desired: seen + Self.reader, ordering: .acquiring)
      if taken {
        // relaxed, all: a figure.
        let sum = collisions.wrappingAdd(tries, ordering: .relaxed).newValue
        if sum >= Self.collisionsForStripes { turnOnStripes() }
        return true
      }
      tries += 1
      seen = original
    }
    return false
  }

  /// Whether readers may take stripes of their own at this moment.
  package var hasStripes: Bool { ReaderStripes.areOn(stripes.load(ordering: .relaxed)) }

  /// For a reader that holds the lock by its word: no writer does.
  package borrowing func turnOnStripes() {
    // relaxed: those that turn stripes off or on come later, or their change is found below.
    let seen = stripes.load(ordering: .relaxed)
    let desired: UInt
    if let known = ReaderStripes(seen) {
      guard !ReaderStripes.areOn(seen) else { return }
      desired = known.number & ~ReaderStripes.off
    } else {
      desired = ReaderStripes().number & ~ReaderStripes.off
    }
    // A writer that waits would have to turn them off again.
    let isWanted = word.load(ordering: .relaxed) & Self.queued == 0
    // sequentially consistent: releasing, for the readers that see them on: what the last writer wrote
    // happens before they read; and one order with a writer's turning them off.
    let isDone =
      isWanted
      && stripes.compareExchange(
        expected: seen, desired: desired, ordering: .sequentiallyConsistent
      ).exchanged
    if isDone {
      // relaxed: this thread is in the word, and its leaving releases it. Beyond 2^32 it begins anew.
      word.wrappingAdd(Self.turn, ordering: .relaxed)
    } else if seen == ReaderStripes.none {
      ReaderStripes(desired)?.free()
    }
  }

  /// Sends readers to the lock's word. For those that write, or wait for it.
  @usableFromInline
  borrowing func turnOffStripes() {
    // sequentially consistent, both: see `ReaderStripes`. Also where somebody else has turned them off,
    // a look at the stripes that follows comes after that.
    let seen = stripes.load(ordering: .sequentiallyConsistent)
    guard ReaderStripes.areOn(seen) else { return }
    _ = stripes.compareExchange(
      expected: seen, desired: seen | ReaderStripes.off, ordering: .sequentiallyConsistent)
    let count = ReaderStripes(seen)?.count ?? 0
    // relaxed: a figure.
    collisions.store(
      Self.collisionsForStripes - Self.collisionsForEachStripe * Int32(count), ordering: .relaxed)
  }

  /// Whether no reader holds the lock by a stripe; if so, none does as long as they are not turned on
  /// again. For a thread that has seen that nobody holds the word against it.
  @usableFromInline
  borrowing func stripesAreFree() -> Bool {
    // sequentially consistent: as in turnOffStripes().
    let seen = stripes.load(ordering: .sequentiallyConsistent)
    guard let known = ReaderStripes(seen) else { return true }
    if ReaderStripes.areOn(seen) {
      // A reader that is there already is spared their being turned off in vain.
      if known.firstReader != nil { return false }
      turnOffStripes()
    }
    return known.firstReader == nil
  }

  /// Waits until no reader is left that holds the lock by a stripe. For the thread that holds the word
  /// for writing.
  ///
  /// - Parameters:
  ///   - access: How the thread came to write, which says what it falls back to.
  ///   - deadline: When to give up.
  /// - Returns: Whether there is none; if not, the word has been given back, or is held for upgradable
  ///   reading.
  @usableFromInline
  borrowing func drainStripesOrLeave(_ access: Access, until deadline: MonotonicInstant) -> Bool {
    turnOffStripes()
    // relaxed: with the word held for writing, nobody turns them on.
    guard let stripes = ReaderStripes(stripes.load(ordering: .relaxed)) else { return true }
    for index in 0..<stripes.count {
      guard !stripes.withStripe(index, { wait(for: $0, until: deadline) }) else { continue }
      if access == .upgrading { downgrade() } else { leave(Self.writer, "writeLock") }
      return false
    }
    return true
  }

  private borrowing func wait(
    for stripe: borrowing Atomic<UInt32>, until deadline: MonotonicInstant
  ) -> Bool {
    var spin = Spin(for: Self.spinNanoseconds)
    while true {
      // sequentially consistent: see `ReaderStripes`; and acquiring: pairs with the release in free().
      var seen = stripe.load(ordering: .sequentiallyConsistent)
      if seen == 0 { return true }
      if seen & ~ReaderStripes.waiting == ctp_thread_id() {
        stop("writeLock", "the calling thread holds the lock for reading")
      }
      if spin.pause() { continue }
      if seen & ReaderStripes.waiting == 0 {
        // relaxed: the bit only asks for a wake.
        guard
          stripe.compareExchange(
            expected: seen, desired: seen | ReaderStripes.waiting, ordering: .relaxed
          ).exchanged
        else { continue }
        seen |= ReaderStripes.waiting
      }
      if Futex.wait(stripe, while: seen, until: deadline) == .timedOut {
        return stripe.load(ordering: .sequentiallyConsistent) == 0
      }
    }
  }
}
