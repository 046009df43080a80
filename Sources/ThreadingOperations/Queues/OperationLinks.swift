/// The links of an operation in one of the lists that it may be in, or of an edge in a ring. Guarded by the lock of
/// that list.
struct OperationLinks {
  /// Addresses; 0 for none.
  var previous: UInt = 0
  var next: UInt = 0
}

extension Unmanaged<ThreadOperation> {
  @inline(__always)
  init?(address: UInt) {
    guard let pointer = unsafe UnsafeRawPointer(bitPattern: address) else { return nil }
    unsafe self = .fromOpaque(pointer)
  }

  @inline(__always)
  var address: UInt { unsafe UInt(bitPattern: toOpaque()) }
}

/// A doubly linked list through operations, which it does not own. Guarded by the queue's lock.
///
/// The generic argument tells which pair of links it goes through, so that both of a queue's lists
/// share this code.
@safe
struct OperationList<Links: OperationLinkage> {
  private(set) var first: Unmanaged<ThreadOperation>?
  private(set) var last: Unmanaged<ThreadOperation>?

  init() {
    unsafe first = nil
    unsafe last = nil
  }

  var isEmpty: Bool { unsafe first == nil }

  mutating func append(_ operation: Unmanaged<ThreadOperation>) {
    unsafe Links.set(operation, previous: last)
    unsafe Links.set(operation, next: nil)
    if let last = unsafe last {
      unsafe Links.set(last, next: operation)
    } else {
      unsafe first = unsafe operation
    }
    unsafe last = unsafe operation
  }

  mutating func remove(_ operation: Unmanaged<ThreadOperation>) {
    let previous = unsafe Links.previous(operation)
    let next = unsafe Links.next(operation)
    if let previous = unsafe previous {
      unsafe Links.set(previous, next: next)
    } else {
      unsafe first = unsafe next
    }
    if let next = unsafe next {
      unsafe Links.set(next, previous: previous)
    } else {
      unsafe last = unsafe previous
    }
    unsafe Links.set(operation, previous: nil)
    unsafe Links.set(operation, next: nil)
  }

  mutating func popFirst() -> Unmanaged<ThreadOperation>? {
    guard let operation = unsafe first else { return nil }
    unsafe remove(operation)
    return unsafe operation
  }

  /// Calls `body` with each operation, in order.
  func forEach(_ body: (ThreadOperation) -> Void) {
    var next = unsafe first
    while let operation = unsafe next {
      unsafe next = Links.next(operation)
      unsafe operation._withUnsafeGuaranteedRef { body($0) }
    }
  }
}

/// Names one of the two pairs of links that an operation has.
protocol OperationLinkage {
  static func previous(_ operation: Unmanaged<ThreadOperation>) -> Unmanaged<ThreadOperation>?
  static func next(_ operation: Unmanaged<ThreadOperation>) -> Unmanaged<ThreadOperation>?
  static func set(_ operation: Unmanaged<ThreadOperation>, previous: Unmanaged<ThreadOperation>?)
  static func set(_ operation: Unmanaged<ThreadOperation>, next: Unmanaged<ThreadOperation>?)
}

/// All operations of a queue, in the order in which they were added.
enum MemberLinkage: OperationLinkage {
  @inline(__always)
  static func previous(_ operation: Unmanaged<ThreadOperation>) -> Unmanaged<ThreadOperation>? {
    unsafe Unmanaged(address: operation._withUnsafeGuaranteedRef { $0.memberLinks.previous })
  }

  @inline(__always)
  static func next(_ operation: Unmanaged<ThreadOperation>) -> Unmanaged<ThreadOperation>? {
    unsafe Unmanaged(address: operation._withUnsafeGuaranteedRef { $0.memberLinks.next })
  }

  @inline(__always)
  static func set(_ operation: Unmanaged<ThreadOperation>, previous: Unmanaged<ThreadOperation>?) {
    let address = unsafe previous?.address ?? 0
    unsafe operation._withUnsafeGuaranteedRef { $0.memberLinks.previous = address }
  }

  @inline(__always)
  static func set(_ operation: Unmanaged<ThreadOperation>, next: Unmanaged<ThreadOperation>?) {
    let address = unsafe next?.address ?? 0
    unsafe operation._withUnsafeGuaranteedRef { $0.memberLinks.next = address }
  }
}

/// The operations of one priority that are ready, in the order in which they became so.
enum ReadyLinkage: OperationLinkage {
  @inline(__always)
  static func previous(_ operation: Unmanaged<ThreadOperation>) -> Unmanaged<ThreadOperation>? {
    unsafe Unmanaged(address: operation._withUnsafeGuaranteedRef { $0.readyLinks.previous })
  }

  @inline(__always)
  static func next(_ operation: Unmanaged<ThreadOperation>) -> Unmanaged<ThreadOperation>? {
    unsafe Unmanaged(address: operation._withUnsafeGuaranteedRef { $0.readyLinks.next })
  }

  @inline(__always)
  static func set(_ operation: Unmanaged<ThreadOperation>, previous: Unmanaged<ThreadOperation>?) {
    let address = unsafe previous?.address ?? 0
    unsafe operation._withUnsafeGuaranteedRef { $0.readyLinks.previous = address }
  }

  @inline(__always)
  static func set(_ operation: Unmanaged<ThreadOperation>, next: Unmanaged<ThreadOperation>?) {
    let address = unsafe next?.address ?? 0
    unsafe operation._withUnsafeGuaranteedRef { $0.readyLinks.next = address }
  }
}

/// The operations of a queue that may start: a list for each priority, and a bit for each list that is
/// not empty. All calls are O(1).
struct ReadyList {
  private var levels = InlineArray<5, OperationList<ReadyLinkage>>(repeating: OperationList())
  private var occupied: UInt8 = 0
  private(set) var count = 0

  mutating func append(
    _ operation: Unmanaged<ThreadOperation>, _ priority: ThreadOperation.Priority
  ) {
    let level = Int(priority.rawValue)
    unsafe levels[level].append(operation)
    occupied |= 1 << priority.rawValue
    count += 1
    unsafe operation._withUnsafeGuaranteedRef { $0.readyLevel = priority.rawValue }
  }

  mutating func remove(_ operation: Unmanaged<ThreadOperation>) {
    let level = unsafe operation._withUnsafeGuaranteedRef { $0.readyLevel }
    unsafe levels[Int(level)].remove(operation)
    if levels[Int(level)].isEmpty { occupied &= ~(1 << level) }
    count -= 1
  }

  /// The oldest of those with the highest priority.
  mutating func popFirst() -> Unmanaged<ThreadOperation>? {
    guard occupied != 0 else { return nil }
    let level = 7 - occupied.leadingZeroBitCount
    let operation = unsafe levels[level].popFirst()
    if levels[level].isEmpty { occupied &= ~(1 << UInt8(level)) }
    count -= 1
    return unsafe operation
  }
}
