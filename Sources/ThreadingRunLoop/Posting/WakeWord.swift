internal import Synchronization
internal import ThreadingPlatform

/// Whether a loop is asleep, and where: the word through which other threads find out if it has to
/// be woken.
struct WakeWord: ~Copyable, Sendable {
  // State    | meaning                           | leaves by
  // awake    | the loop runs                     | beginSleep -> onFutex / inPoll,
  //          |                                   | notify -> notified
  // onFutex  | it sleeps, or is about to, on     | notify -> notified, and wakes it;
  //          | this word                         | beginPass -> awake
  // inPoll   | the same in the poller            | as onFutex
  // notified | it must look around before it     | beginPass -> awake
  //          | sleeps                            |
  //
  // No wake is lost:
  // - notify() writes with a read-modify-write, after its caller has made the change that the loop
  //   is to see. Such operations on one word have an order. Before the loop's beginSleep: it finds
  //   `notified` and does not sleep. After it: notify() finds a sleeper and wakes it.
  // - wakeSleeper(), after a push to the inbox, only loads. Its load, the push, beginSleep and the
  //   loop's look at the inbox after beginSleep are sequentially consistent: either the loop sees
  //   the push, or the load sees the sleeper. A push therefore depends on no other producer.
  private let word = Atomic<UInt32>(State.awake.rawValue)

  enum State: UInt32 {
    case awake
    case onFutex
    case inPoll
    case notified
  }

  /// Where a sleeper that has to be woken sleeps.
  enum Sleeper {
    case none
    case onFutex
    case inPoll
  }

  /// The loop looks around from here on: what was notified before is what it will find.
  borrowing func beginPass() {
    // acquiring: pairs with the release in notify(), for what its caller changed. Sequentially
    // consistent because wakeSleeper() may read the value written here: it then precedes the
    // loop's next beginSleep, whose look at the inbox sees the push.
    _ = word.exchange(State.awake.rawValue, ordering: .sequentiallyConsistent)
  }

  /// The loop is about to sleep.
  ///
  /// - Returns: false when it has been notified since ``beginPass()`` and must not sleep.
  borrowing func beginSleep(inPoll: Bool) -> Bool {
    let state = inPoll ? State.inPoll : State.onFutex
    // Sequentially consistent: pairs with the load in wakeSleeper(). The release in it hands the
    // poller to whoever finds `inPoll`.
    return word.compareExchange(
      expected: State.awake.rawValue, desired: state.rawValue, ordering: .sequentiallyConsistent
    ).exchanged
  }

  /// Sleeps on the word until notified or until a moment, whatever signals are handled meanwhile.
  borrowing func sleep(until deadline: MonotonicInstant) {
    // relaxed: what a waker changed is acquired in beginPass().
    while word.load(ordering: .relaxed) == State.onFutex.rawValue {
      if Futex.wait(word, while: State.onFutex.rawValue, until: deadline) == .timedOut { return }
    }
  }

  /// Makes the loop look around before it sleeps again.
  ///
  /// - Returns: where the loop sleeps; the caller wakes it.
  borrowing func notify() -> Sleeper {
    // releasing: what the caller changed is visible after beginPass(). acquiring: pairs with
    // beginSleep, for the poller.
    let before = word.exchange(State.notified.rawValue, ordering: .acquiringAndReleasing)
    switch before {
    case State.onFutex.rawValue: return .onFutex
    case State.inPoll.rawValue: return .inPoll
    default: return .none
    }
  }

  /// Makes a sleeping loop look around, after a push to its inbox; costs a load when it is awake.
  borrowing func wakeSleeper() -> Sleeper {
    // Sequentially consistent: pairs with beginSleep (see above).
    switch word.load(ordering: .sequentiallyConsistent) {
    case State.onFutex.rawValue, State.inPoll.rawValue: return notify()
    default: return .none
    }
  }

  /// Whether the loop was notified since ``beginPass()``. Only for the loop's thread.
  var isNotified: Bool {
    // relaxed: what goes with it is acquired in beginPass().
    word.load(ordering: .relaxed) == State.notified.rawValue
  }

  /// Whether the loop sleeps, or is about to. For tests.
  var isAsleep: Bool {
    let state = word.load(ordering: .relaxed)
    return state == State.onFutex.rawValue || state == State.inPoll.rawValue
  }

  /// Wakes the loop out of ``sleep(until:)``.
  borrowing func wakeFromFutex() { Futex.wake(word, count: 1) }
}
