/// The dependants of an operation that has finished, oldest edge first.
@safe
struct ReleasedOperations {
  /// Those that wait in the operation's own queue, and still have their hold.
  private var ownFirst: Unmanaged<ThreadOperation>?
  private var ownRest: [Unmanaged<ThreadOperation>]?
  /// Those of other queues that have no hold any more.
  private var others: [ThreadOperation]?

  init() {
    unsafe ownFirst = nil
    unsafe ownRest = nil
  }

  mutating func appendOwn(_ operation: Unmanaged<ThreadOperation>) {
    if unsafe ownFirst == nil {
      unsafe ownFirst = unsafe operation
    } else if unsafe ownRest == nil {
      unsafe ownRest = unsafe [operation]
    } else {
      unsafe ownRest?.append(operation)
    }
  }

  mutating func append(_ operation: ThreadOperation) {
    if others == nil { others = [operation] } else { others?.append(operation) }
  }

  /// Whether there are some of the own queue.
  var hasOwn: Bool { unsafe ownFirst != nil }

  /// The one of the own queue, if there is one only.
  var onlyOwn: Unmanaged<ThreadOperation>? {
    guard unsafe ownRest == nil else { return nil }
    return unsafe ownFirst
  }

  /// Forgets the one of the own queue, which has been seen to.
  mutating func dropOnlyOwn() { unsafe ownFirst = nil }

  /// With the lock of the own queue held: calls `body` with each of that queue, in order.
  mutating func takeOwn(_ body: (ThreadOperation) -> Void) {
    guard let first = unsafe ownFirst else { return }
    unsafe ownFirst = nil
    unsafe first._withUnsafeGuaranteedRef { body($0) }
    guard let rest = unsafe ownRest else { return }
    unsafe ownRest = nil
    for index in unsafe rest.indices { unsafe rest[index]._withUnsafeGuaranteedRef { body($0) } }
  }

  /// Hands each of the others to its queue, those of one queue at once.
  consuming func admitOthers() {
    if others == nil { return }
    while let oldest = others?.first, let core = oldest.core {
      let ofOneQueue = others?.filter { $0.core === core } ?? []
      others?.removeAll { $0.core === core }
      core.admit(ofOneQueue)
    }
  }
}
