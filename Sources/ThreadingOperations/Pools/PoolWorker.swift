internal import Synchronization
internal import ThreadingPlatform
internal import ThreadingThreads

/// One thread of a pool, and the word on which it sleeps.
final class PoolWorker: Sendable {
  // State     | meaning                         | leaves by
  // 0 awake   | has something to do             | sleep() -> asleep, wake() -> woken
  // 1 woken   | is to look for work             | sleep() -> awake
  // 2 asleep  | sleeps, or is about to          | wake() -> woken, sleep() -> awake at its deadline
  private let word = Atomic<UInt32>(0)
  /// When it was woken last, in nanoseconds. relaxed: a hint.
  private let wokenAt = Atomic<Int64>(0)

  /// How many nanoseconds ago it was woken.
  var sinceWake: Int64 { MonotonicInstant.now.nanoseconds - wokenAt.load(ordering: .relaxed) }

  // SAFETY of nonisolated(unsafe): written once in the initialiser, before anybody else has the object.
  private nonisolated(unsafe) var thread: PosixThread<Void, Never>?

  /// Its number in the pool.
  let index: Int

  init(_ attributes: ThreadAttributes, index: Int, body: @escaping @Sendable (PoolWorker) -> Void) {
    self.index = index
    let thread = PosixThread<Void, Never>(attributes) { [unowned self] in body(self) }
    // Whoever happens to ask for a thread has nothing to do with what it will run.
    thread.handle.disinherit()
    unsafe self.thread = thread
  }

  /// Starts the thread, which runs the body that was given to the initialiser.
  func start() throws(ThreadingError) { try unsafe thread?.start() }

  /// Waits for the end of the thread.
  func join() {
    do throws(ThreadingError) {
      _ = try unsafe thread?.result(until: .distantFuture)
    } catch {
      fatalError("ThreadPool.shutDown: called by a thread of the pool itself: \(error)")
    }
  }

  /// Sleeps until woken or until a moment. A wake that came before is not lost.
  ///
  /// - Returns: whether it was woken.
  func sleep(until deadline: MonotonicInstant) -> Bool {
    // acquiring: pairs with the release in wake().
    guard word.compareExchange(expected: 0, desired: 2, ordering: .acquiring).exchanged else {
      word.store(0, ordering: .relaxed)
      return true
    }
    while true {
      let result = Futex.wait(word, while: 2, until: deadline)
      if word.load(ordering: .acquiring) == 1 {
        word.store(0, ordering: .relaxed)
        return true
      }
      guard result == .timedOut else { continue }
      return word.exchange(0, ordering: .acquiring) == 1
    }
  }

  /// Wakes the thread, or keeps it from falling asleep.
  func wake() {
    // releasing: what the waker wrote is seen by the thread that it wakes.
    if word.exchange(1, ordering: .releasing) == 2 {
      if Processors.available > 1 {
        wokenAt.store(MonotonicInstant.now.nanoseconds, ordering: .relaxed)
      }
      Futex.wake(word, count: 1)
    }
  }
}
