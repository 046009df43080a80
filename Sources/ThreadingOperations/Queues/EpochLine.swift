/// The stretches of a queue between its barriers. Guarded by the queue's lock.
///
/// Each operation belongs to an epoch. Only those of the current one may start; the next one becomes current
/// when all operations of the current one have finished. A barrier is alone in its epoch. All calls are
/// O(1), but for handing on the held operations, which is O(1) for each.
struct EpochLine {
  private struct Epoch {
    var unfinished = 0
    /// Those that are ready but for the barrier.
    var held = OperationList<ReadyLinkage>()
  }

  private var current: UInt32 = 0
  private var unfinishedNow = 0
  /// The epochs after the current one are `later[passed...]`.
  private var later: [Epoch] = []
  private var passed = 0

  private var hasLater: Bool { passed < later.count }

  /// Whether the next epoch is to become current.
  var isOver: Bool { unfinishedNow == 0 && hasLater }

  /// Counts an operation that was added.
  ///
  /// - Returns: the epoch that it belongs to.
  mutating func add() -> UInt32 {
    guard hasLater else {
      unfinishedNow += 1
      return current
    }
    later[later.count - 1].unfinished += 1
    return current &+ UInt32(later.count - passed)
  }

  /// Counts a barrier that was added, and begins an epoch after it.
  mutating func addBarrier() -> UInt32 {
    later.append(Epoch(unfinished: 1))
    later.append(Epoch())
    return current &+ UInt32(later.count - passed - 1)
  }

  func isCurrent(_ epoch: UInt32) -> Bool { epoch == current }

  /// Keeps an operation that is ready until its epoch is current.
  mutating func hold(_ operation: Unmanaged<ThreadOperation>, of epoch: UInt32) {
    unsafe later[index(of: epoch)].held.append(operation)
  }

  /// Takes such an operation out again.
  mutating func release(_ operation: Unmanaged<ThreadOperation>, of epoch: UInt32) {
    unsafe later[index(of: epoch)].held.remove(operation)
  }

  private func index(of epoch: UInt32) -> Int { passed + Int(epoch &- current) - 1 }

  /// Counts an operation that has finished; only those of the current epoch can.
  mutating func finishOne() { unfinishedNow -= 1 }

  /// Makes the next epoch current if the present one has nothing unfinished.
  ///
  /// - Returns: the operations that were held for it, or nil if the current epoch stays.
  mutating func advance() -> OperationList<ReadyLinkage>? {
    guard isOver else { return nil }
    let next = later[passed]
    passed += 1
    current &+= 1
    unfinishedNow = next.unfinished
    if passed == later.count {
      later.removeAll(keepingCapacity: later.count <= 64)
      passed = 0
    } else if passed > 32, passed * 2 > later.count {
      later.removeFirst(passed)
      passed = 0
    }
    return next.held
  }
}
