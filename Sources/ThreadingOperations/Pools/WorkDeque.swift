internal import Synchronization

/// A closure on its way to a thread.
///
/// A structure and not the bare closure: as a generic argument (in an array, an optional, a pointer) a bare
/// closure is wrapped into another one, which costs an allocation.
package struct Job: Sendable {
  package let body: @Sendable () -> Void

  package init(_ body: consuming @escaping @Sendable () -> Void) { self.body = body }
}

/// The jobs that one thread has given itself, from which others may steal.
///
/// The owner adds and takes at one end, the newest first, without a lock; thieves take at the other, the
/// oldest first. Each job is taken once. This is the deque of Chase and Lev ("Dynamic Circular Work-Stealing
/// Deque", 2005).
///
/// ```
/// top    | the oldest job's place; grows by a compare-exchange of whoever takes that job
/// bottom | the place after the newest job's; written by the owner alone
/// ring   | where a place's job lies; replaced by the owner by a larger one with the same jobs
/// ```
///
/// A place is a number that never comes again, so that a compare-exchange of `top` that succeeds shows that
/// nobody has taken the job since it was read, and that the owner has not written over it.
@safe
package final class WorkDeque: @unchecked Sendable {
  // SAFETY of @safe and @unchecked: the rings are valid for as long as the object. What can change is atomic.
  // Who the owner is may change; the caller orders what the old one did before what the new one does.

  private let top = Atomic<Int>(0)
  /// Keeps what thieves write off the owner's cache line.
  private let padding: InlineArray<15, Int> = .init(repeating: 0)
  private let bottom = Atomic<Int>(0)
  private let ring: Atomic<UnsafeMutablePointer<Ring>>

  /// More jobs than this are refused.
  package static let capacity = 1 << 12

  /// Two words of a job. They are read one by one, and make a job only for the one who has taken its place.
  private struct Slot: ~Copyable {
    let first = Atomic<UInt>(0)
    let second = Atomic<UInt>(0)
  }

  @safe
  private struct Ring {
    let mask: Int
    let slots: UnsafeMutablePointer<Slot>
    /// The smaller one that it has replaced, in which a thief may still be reading.
    let older: UnsafeMutablePointer<Ring>?

    init(size: Int, older: UnsafeMutablePointer<Ring>?) {
      mask = size - 1
      unsafe slots = .allocate(capacity: size)
      for place in 0..<size { unsafe (slots + place).initialize(to: Slot()) }
      unsafe self.older = unsafe older
    }

    // relaxed: the words are handed over by `bottom`, and judged by `top`.
    func write(_ words: JobWords, at place: Int) {
      unsafe slots[place & mask].first.store(words.first, ordering: .relaxed)
      unsafe slots[place & mask].second.store(words.second, ordering: .relaxed)
    }

    func read(_ place: Int) -> JobWords {
      unsafe JobWords(
        first: slots[place & mask].first.load(ordering: .relaxed),
        second: slots[place & mask].second.load(ordering: .relaxed))
    }
  }

  package init(initialCapacity: Int = 64) {
    let first = UnsafeMutablePointer<Ring>.allocate(capacity: 1)
    unsafe first.initialize(to: Ring(size: initialCapacity, older: nil))
    unsafe ring = Atomic(first)
  }

  deinit {
    while let job = take() { _ = consume job }
    var next: UnsafeMutablePointer<Ring>? = unsafe ring.load(ordering: .relaxed)
    while let last = unsafe next {
      unsafe next = last.pointee.older
      let size = unsafe last.pointee.mask + 1
      unsafe last.pointee.slots.deinitialize(count: size)
      unsafe last.pointee.slots.deallocate()
      unsafe last.deallocate()
    }
  }

  /// Whether there is nothing to take, as far as the calling thread can see.
  package var isEmpty: Bool {
    // sequentially consistent: see `add`, whose partner a thread is that is about to stop looking.
    let oldest = top.load(ordering: .sequentiallyConsistent)
    return oldest >= bottom.load(ordering: .sequentiallyConsistent)
  }

  /// Whether another job will be taken in. Asked by the owner: thieves make room only.
  package var hasRoom: Bool {
    // relaxed, both: a job more or less does not matter.
    bottom.load(ordering: .relaxed) - top.load(ordering: .relaxed) < Self.capacity
  }

  /// Adds a job. Called by the owner.
  ///
  /// - Returns: false if there are ``capacity`` jobs already: the job was not added then.
  package func add(_ job: consuming Job) -> Bool {
    // relaxed: nobody else writes them.
    let place = bottom.load(ordering: .relaxed)
    var now = unsafe ring.load(ordering: .relaxed)
    // acquiring: pairs with the compare-exchange of the thief who took the place's last job, whose reading of
    // it comes before our writing over it.
    let oldest = top.load(ordering: .acquiring)
    if unsafe place - oldest > now.pointee.mask {
      if place - oldest >= Self.capacity { return false }
      unsafe now = grow(now, oldest..<place)
    }
    unsafe now.pointee.write(JobWords(holding: job), at: place)
    // sequentially consistent, which is releasing: a thief who sees it sees the job. And whoever adds a job and
    // then sees that another thread looks for jobs, or is on the way, has added it before that one's last look;
    // see `ClosureLane`.
    bottom.store(place + 1, ordering: .sequentiallyConsistent)
    return true
  }

  /// Adds some jobs to the deque while it is empty, so that the owner takes them in the order in which `next`
  /// gives them. Called by the owner.
  package func add(_ count: Int, _ next: () -> Job) {
    let place = bottom.load(ordering: .relaxed)
    let now = unsafe ring.load(ordering: .relaxed)
    // acquiring: as in `add(_:)`.
    let oldest = top.load(ordering: .acquiring)
    guard oldest == place, unsafe count <= now.pointee.mask else {
      fatalError("WorkDeque.add: \(count) jobs for a deque of \(place - oldest)")
    }
    for offset in 0..<count {
      unsafe now.pointee.write(JobWords(holding: next()), at: place + count - 1 - offset)
    }
    // sequentially consistent: as in `add(_:)`.
    bottom.store(place + count, ordering: .sequentiallyConsistent)
  }

  /// Takes the newest job. Called by the owner.
  package func take() -> Job? {
    let place = bottom.load(ordering: .relaxed) - 1
    // Most often there is none. acquiring: pairs with the compare-exchange of whoever took the last one.
    if top.load(ordering: .acquiring) > place { return nil }
    let now = unsafe ring.load(ordering: .relaxed)
    // sequentially consistent, as are the next load and the two in `steal()`: either the thief sees that the job
    // is no longer there, or we see how far thieves have come. If both could miss the other's step, both would
    // take it.
    bottom.store(place, ordering: .sequentiallyConsistent)
    let oldest = top.load(ordering: .sequentiallyConsistent)
    if oldest < place { return unsafe now.pointee.read(place).job() }
    // The last one, which a thief may be taking, or none.
    var words: JobWords?
    if oldest == place {
      let found = unsafe now.pointee.read(place)
      let isOurs = top.compareExchange(
        expected: oldest, desired: oldest + 1, ordering: .sequentiallyConsistent
      ).exchanged
      if isOurs { words = found }
    }
    // relaxed: there is nothing that a thief could find by it.
    bottom.store(place + 1, ordering: .relaxed)
    return words?.job()
  }

  /// Takes the oldest job. Called by any thread.
  package func steal() -> Theft {
    // sequentially consistent, both: see `take()`. The second is acquiring as well: it sees the job that was
    // added before, and the ring in which it lies.
    let oldest = top.load(ordering: .sequentiallyConsistent)
    let end = bottom.load(ordering: .sequentiallyConsistent)
    guard oldest < end else { return .nothing }
    // acquiring: pairs with the owner's change to a larger ring.
    let words = unsafe ring.load(ordering: .acquiring).pointee.read(oldest)
    // sequentially consistent: see `take()`. Until it succeeds, the words are nobody's job.
    let isOurs = top.compareExchange(
      expected: oldest, desired: oldest + 1, ordering: .sequentiallyConsistent
    ).exchanged
    return isOurs ? .job(words.job()) : .lost
  }

  package enum Theft {
    case job(Job)
    /// Another was quicker; there may be more.
    case lost
    case nothing
  }

  private func grow(
    _ old: UnsafeMutablePointer<Ring>, _ places: Range<Int>
  ) -> UnsafeMutablePointer<Ring> {
    let new = UnsafeMutablePointer<Ring>.allocate(capacity: 1)
    unsafe new.initialize(to: Ring(size: (old.pointee.mask + 1) * 2, older: old))
    for place in places { unsafe new.pointee.write(old.pointee.read(place), at: place) }
    // releasing: a thief who sees the ring sees what is in it.
    unsafe ring.store(new, ordering: .releasing)
    return unsafe new
  }
}

/// A job taken apart. Whoever holds it as the one who has taken its place holds the job's reference.
private struct JobWords {
  let first: UInt
  let second: UInt

  init(first: UInt, second: UInt) {
    self.first = first
    self.second = second
  }

  /// Takes a job apart; its reference is the words' from here on.
  init(holding job: consuming Job) {
    // SAFETY: memory of a job's size, which is that of two words, is written as a job and read as words; the
    // job is never destroyed there.
    (first, second) = unsafe withUnsafeTemporaryAllocation(
      byteCount: MemoryLayout<Job>.size, alignment: MemoryLayout<Job>.alignment
    ) { memory in
      unsafe memory.initializeMemory(as: Job.self, repeating: job)
      return unsafe (
        memory.load(as: UInt.self),
        memory.load(fromByteOffset: MemoryLayout<UInt>.size, as: UInt.self)
      )
    }
  }

  /// Puts the job together again. To be called once.
  func job() -> Job {
    // SAFETY: as above, the other way round: a job may be moved by its bytes.
    unsafe withUnsafeTemporaryAllocation(
      byteCount: MemoryLayout<Job>.size, alignment: MemoryLayout<Job>.alignment
    ) { memory in
      unsafe memory.storeBytes(of: first, as: UInt.self)
      unsafe memory.storeBytes(of: second, toByteOffset: MemoryLayout<UInt>.size, as: UInt.self)
      return unsafe memory.bindMemory(to: Job.self).baseAddress!.move()
    }
  }
}
