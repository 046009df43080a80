import TestSupport
import Threading
import ThreadingPlatform

/// Runs `body` on a thread of its own, which has a loop of its own, and returns its result when
/// the thread has ended.
func onOwnThread<Result: Sendable>(_ body: @escaping @Sendable () -> Result) throws -> Result {
  let result = Shared<Result?>(nil)
  let join = try inBackground { result.set(body()) }
  join()
  return result.value!
}

/// The mode for loops of a forked child: its one thread is the main thread, whose loop serves in common
/// modes the main queue of Dispatch, with what the parent has put there.
let ownMode = ThreadRunLoop.Mode("of the child")

/// A thread that runs its loop until it is told to end.
final class LoopThread: Sendable {
  let loop: ThreadRunLoop
  private let flag: ExitFlag
  private let thread: SystemThread

  init() throws {
    let flag = ExitFlag()
    let made = Shared<ThreadRunLoop?>(nil)
    thread = try SystemThread.start(.init(stackSize: 1 << 20)) {
      let loop = ThreadRunLoop.current
      made.set(loop)
      loop.run(until: flag)
    }
    self.flag = flag
    loop = made.wait { $0 }
  }

  /// Ends the run and waits for the thread's end.
  func end() {
    flag.set()
    thread.join()
  }

  /// Waits until the loop has nothing to do and sleeps.
  func waitUntilAsleep() -> Bool { eventually { loop.isAsleep } }
}

/// A value under a lock that threads can wait for.
final class Shared<Value: Sendable>: Sendable {
  private let mutex = FastMutex()
  private let changed = ConditionVariable()
  // SAFETY: guarded by `mutex`.
  private nonisolated(unsafe) var storage: Value

  init(_ value: Value) { unsafe storage = value }

  var value: Value { mutex.withLock { unsafe storage } }

  func set(_ value: Value) { change { $0 = value } }

  @discardableResult
  func change<Result>(_ body: (inout Value) -> Result) -> Result {
    mutex.lock()
    defer {
      mutex.unlock()
      changed.broadcast()
    }
    return unsafe body(&storage)
  }

  /// Waits until `part` answers something.
  func wait<Result>(for part: (Value) -> Result?) -> Result {
    mutex.lock()
    defer { mutex.unlock() }
    while true {
      if let result = unsafe part(storage) { return result }
      changed.wait(mutex)
    }
  }

  /// Waits until `condition` holds.
  func waitUntil(_ condition: (Value) -> Bool) {
    let _: Bool = wait { condition($0) ? true : nil }
  }
}

extension Shared {
  /// Adds to a list, with what is added computed outside the lock.
  func append<Element>(_ element: Element) where Value == [Element] {
    change { $0.append(element) }
  }
}

/// Waits until `condition` holds, without blocking a thread of the pool.
///
/// What is waited for may need a thread of the pool itself, behind all tests that have begun and share
/// it: hence the limit of ten minutes, after which it gives up.
///
/// - Returns: Whether the condition came to hold.
func eventuallyAsync(_ condition: () -> Bool) async -> Bool {
  let limit = MonotonicInstant.now.advanced(by: .seconds(600))
  while !condition() {
    if MonotonicInstant.now > limit { return false }
    try? await Task.sleep(for: .milliseconds(1))
  }
  return true
}
