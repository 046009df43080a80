/// What is packed into the one word of an operation that tells its state.
///
/// ```
/// bits 0-2 phase | meaning                                  | leaves by
/// pending        | handed to nobody                         | add -> adding, start() -> executing
/// adding         | a queue is taking it in                  | the adder -> waiting or ready
/// waiting        | in a queue, dependencies unfinished      | the last dependency -> ready
/// ready          | in the queue's ready list                | a drain -> executing; a dependency
///                |                                          | added late -> waiting
/// executing      | main() runs, or its work goes on         | its end -> finishing
/// finishing      | completion blocks run, dependants go     | the finisher -> finished
/// finished       | final                                    | never
/// ```
///
/// The phases `waiting` and `ready` are entered and left with the queue's lock held. The flags are
/// set by anybody, so every change of the word is a read-modify-write.
struct OperationWord: Equatable {
  var bits: UInt32

  enum Phase: UInt32 {
    case pending = 0
    case adding = 1
    case waiting = 2
    case ready = 3
    case executing = 4
    // `finished` differs from `finishing` by one bit, so that the last step is one atomic "or".
    case finishing = 6
    case finished = 7
  }

  private static let phaseMask: UInt32 = 0b111

  /// `cancel()` was called before the end.
  static let cancelled: UInt32 = 1 << 3
  /// A thread may be sleeping on the word.
  static let hasWaiters: UInt32 = 1 << 4
  /// Operations may depend on this one.
  static let hasDependants: UInt32 = 1 << 5
  /// Completion blocks are waiting to run.
  static let hasCompletions: UInt32 = 1 << 7
  /// No dependant and no completion block is taken in any more.
  static let isClosed: UInt32 = 1 << 8
  /// The asynchronous operation's `main()` has returned and its work goes on.
  static let isOnItsOwn: UInt32 = 1 << 9
  /// A queue has taken it in.
  static let isQueued: UInt32 = 1 << 10
  /// It has finished without its body having run.
  static let wasSkipped: UInt32 = 1 << 11
  /// It has finished with an error.
  static let hasFailed: UInt32 = 1 << 12

  /// Cancellation handlers are waiting to be called.
  static let hasHandlers: UInt32 = 1 << 13

  /// Conditions are to be asked before `main()`.
  static let hasConditions: UInt32 = 1 << 14

  /// A closure operation has more closures than one.
  static let hasBlocks: UInt32 = 1 << 15

  /// Somebody is told of its states.
  static let isWatched: UInt32 = 1 << 19

  /// It has a quality of its own.
  static let hasQuality: UInt32 = 1 << 20

  private static let priorityShift: UInt32 = 16
  private static let priorityMask: UInt32 = 0b111 << 16

  init(bits: UInt32) { self.bits = bits }

  init(priority: ThreadOperation.Priority) {
    bits = UInt32(priority.rawValue) << Self.priorityShift
  }

  var phase: Phase {
    get {
      guard let phase = Phase(rawValue: bits & Self.phaseMask) else {
        fatalError("ThreadOperation: its word holds no phase (\(bits))")
      }
      return phase
    }
    set { bits = bits & ~Self.phaseMask | newValue.rawValue }
  }

  var priority: ThreadOperation.Priority {
    get {
      let raw = UInt8((bits & Self.priorityMask) >> Self.priorityShift)
      return ThreadOperation.Priority(rawValue: raw) ?? .normal
    }
    set { bits = bits & ~Self.priorityMask | UInt32(newValue.rawValue) << Self.priorityShift }
  }

  func has(_ flag: UInt32) -> Bool { bits & flag != 0 }

  /// Whether the work has begun, or is over.
  var hasStarted: Bool { bits & Self.phaseMask >= Phase.executing.rawValue }

  /// Whether the work is over, whatever is still to be told about it.
  var isOver: Bool { bits & Self.phaseMask >= Phase.finishing.rawValue }
}
