internal import Synchronization
internal import ThreadingPlatform

/// A thread that waits for something that another thread will grant it.
///
/// Made by the waiting thread for one wait, put into a ``WaitQueue`` under the lock of the object
/// that is waited for, taken out of it under the same lock by whoever decides the grant, and told
/// so after that lock has been given back.
final class Waiter<Wanted: Sendable>: @unchecked Sendable {
  // State        | meaning                            | leaves by
  // awake = 0    | not granted, not sleeping          | waiter -> asleep, granter -> granted
  // asleep = 1   | not granted, may be sleeping       | granter -> granted, and wakes
  // granted = 2  | final                              | never
  private let state = Atomic<UInt32>(Waiter.awake)

  private static var awake: UInt32 { 0 }
  private static var asleep: UInt32 { 1 }
  private static var granted: UInt32 { 2 }

  /// What the thread waits for.
  let wanted: Wanted
  /// The thread, for messages about misuse.
  let thread = SystemThread.currentID

  // SAFETY of @unchecked: the links and the mark are touched only with the lock of the
  // queue's owner held; in a `GrantList`, `next` belongs to the one thread that holds the list.
  fileprivate(set) var next: Waiter?
  fileprivate var previous: Waiter?
  fileprivate(set) var isQueued = false

  init(_ wanted: Wanted) {
    self.wanted = wanted
  }

  /// Sleeps until granted or until a moment. For the waiting thread only.
  ///
  /// - Returns: Whether the grant was seen. If not, the caller takes the owner's lock and removes
  ///   itself from the queue; only when it is no longer there has it been granted after all.
  func sleep(until deadline: MonotonicInstant) -> Bool {
    while true {
      // acquiring, both: pair with the release in grant().
      let (_, seen) = state.compareExchange(
        expected: Self.awake, desired: Self.asleep, ordering: .acquiring)
      if seen == Self.granted { return true }
      if Futex.wait(state, while: Self.asleep, until: deadline) == .timedOut {
        return state.load(ordering: .acquiring) == Self.granted
      }
    }
  }

  /// Lets the thread go on. For the thread that took the waiter out of the queue, once.
  func grant() {
    // releasing: what the granter did happens before sleep() returns.
    if state.exchange(Self.granted, ordering: .releasing) == Self.asleep {
      Futex.wake(state, count: 1)
    }
  }
}

/// Waiting threads, oldest first. Guarded by the lock of the object that owns the queue.
struct WaitQueue<Wanted: Sendable>: ~Copyable {
  private(set) var first: Waiter<Wanted>?
  private var last: Waiter<Wanted>?

  var isEmpty: Bool { first == nil }

  mutating func append(_ waiter: Waiter<Wanted>) {
    waiter.isQueued = true
    waiter.previous = last
    last?.next = waiter
    last = waiter
    if first == nil { first = waiter }
  }

  mutating func prepend(_ waiter: Waiter<Wanted>) {
    waiter.isQueued = true
    waiter.next = first
    first?.previous = waiter
    first = waiter
    if last == nil { last = waiter }
  }

  /// Takes a waiter out, wherever it stands.
  ///
  /// - Returns: false if it was not in the queue: somebody has taken it out to grant it.
  @discardableResult
  mutating func remove(_ waiter: Waiter<Wanted>) -> Bool {
    guard waiter.isQueued else { return false }
    waiter.isQueued = false
    if let previous = waiter.previous { previous.next = waiter.next } else { first = waiter.next }
    if let next = waiter.next { next.previous = waiter.previous } else { last = waiter.previous }
    waiter.previous = nil
    waiter.next = nil
    return true
  }
}

/// Waiters taken out of a queue, to be told after the lock has been given back: a thread that is
/// woken then finds the lock free.
struct GrantList<Wanted: Sendable>: Sendable {
  private var first: Waiter<Wanted>?
  private var last: Waiter<Wanted>?

  /// Adds a waiter that is in no queue.
  mutating func append(_ waiter: Waiter<Wanted>) {
    if let last { last.next = waiter } else { first = waiter }
    last = waiter
  }

  /// Grants all, in order.
  consuming func grantAll() {
    while let waiter = first {
      first = waiter.next
      waiter.next = nil
      waiter.grant()
    }
  }
}
