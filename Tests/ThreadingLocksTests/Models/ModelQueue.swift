/// A queue of waiting threads as `WaitQueue` and `Waiter` make it, for the models of what is built
/// on them. Each wait has an object of its own, so a grant that comes late reaches the wait that it
/// was meant for even when the thread has gone on.
///
/// A grant is one step here: that a granted thread wakes up is shown by the model of `Waiter`.
struct ModelQueue: Hashable, Sendable {
  /// One wait of one thread.
  struct Wait: Hashable, Sendable {
    let thread: Int
    let number: Int
  }

  /// Who waits, oldest first.
  private(set) var waits: [Wait] = []
  private var granted: Set<Wait> = []
  private var made: [Int: Int] = [:]

  /// A wait that is in no queue yet.
  mutating func makeWait(_ thread: Int) -> Wait {
    made[thread, default: 0] += 1
    return Wait(thread: thread, number: made[thread, default: 0])
  }

  mutating func append(_ wait: Wait) { waits.append(wait) }
  mutating func prepend(_ wait: Wait) { waits.insert(wait, at: 0) }

  /// Takes a wait out of the queue; false if it was not there.
  mutating func remove(_ wait: Wait) -> Bool {
    guard let place = waits.firstIndex(of: wait) else { return false }
    waits.remove(at: place)
    return true
  }

  mutating func grant(_ wait: Wait) { granted.insert(wait) }
  func isGranted(_ wait: Wait) -> Bool { granted.contains(wait) }
}
