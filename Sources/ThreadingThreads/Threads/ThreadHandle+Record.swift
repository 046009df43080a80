internal import Synchronization

extension ThreadHandle {
  /// What any thread may ask for, with the lock held.
  struct Record: ~Copyable {
    var name: Name
    /// The thread whose end this one waits for without a limit.
    var awaited: ThreadHandle?
    /// Whether the system's handle may be used.
    var isAlive = false
    /// The thread is in its last steps: no more watchers are kept.
    var isRetired = false
    /// Tasks that wait for the thread's end.
    var watchers: [EndWatcher] = []
    /// At how many watchers those that wait no more are sorted out.
    var watcherLimit = 16
  }

  /// A name that a fork finds whole at any moment, though a string takes two stores.
  struct Name: ~Copyable {
    private var first: String?
    private var second: String?
    /// Which of the two it is.
    private let isSecond: Atomic<Bool>

    init(_ name: String?) {
      first = name
      isSecond = Atomic(false)
    }

    var current: String? { isSecond.load(ordering: .relaxed) ? second : first }

    mutating func set(_ name: String?) {
      // releasing: after the stores of the new name, also for a child, which has what was stored up to
      // some moment.
      if isSecond.load(ordering: .relaxed) {
        first = name
        isSecond.store(false, ordering: .releasing)
      } else {
        second = name
        isSecond.store(true, ordering: .releasing)
      }
    }
  }

  /// What only the thread itself touches.
  struct Local {
    var runLoop: AnyObject?
    var operations: AnyObject?
    var endHooks: [() -> Void] = []
    /// How many values of thread-local variables the thread has stored.
    var localSequence = 0
    /// The variables of which the thread has or had a value that threads it starts inherit.
    var inheritable: [Int] = []
    /// What gives the thread the values that it inherits; for a thread that is to be started.
    var inheritance: [@Sendable () -> Void] = []
    /// Whether the thread inherits values from its starter.
    var isHeir = true
    /// The thread that starts this one, until it runs.
    var starter: ThreadHandle?
    /// Whether the process is to wait for the thread's end.
    var keepsProcessOpen = false
    /// The scopes that the thread is in, the outermost first.
    var scopes: [ThreadScope] = []
    /// In how many more rounds of the system's destructors `finished` is put off.
    var roundsToStay = 0
  }
}
