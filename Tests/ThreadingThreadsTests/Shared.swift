import Synchronization
import Threading
import ThreadingPlatform

/// Gives the processor away for a moment, inside loops that wait for another thread.
func waitABit() {
  SystemThread.yield()
}

/// What several tests share with their threads.
enum Shared {
  /// A thread that its own body must reach.
  static let thread = Locked<PosixThread<String, Never>?>(nil)

  /// A plain value: the order of its reads and writes is what a test is about.
  final class Note: @unchecked Sendable {
    // SAFETY of @unchecked: the tests order its accesses by the toolkit's own promises.
    var value = 0
  }

  /// A flag that a thread waits on.
  final class Flag: Sendable {
    private let value = Atomic<Bool>(false)

    var isSet: Bool { value.load(ordering: .acquiring) }

    func set() { value.store(true, ordering: .releasing) }

    func wait() {
      while !isSet { waitABit() }
    }
  }

  /// A gate that threads sleep at until it is opened.
  final class Gate: Sendable {
    private let mutex = FastMutex()
    private let opened = ConditionVariable()
    private let isOpen = Atomic<Bool>(false)

    func open() {
      mutex.withLock { isOpen.store(true, ordering: .relaxed) }
      opened.broadcast()
    }

    func wait() {
      mutex.lock()
      opened.wait(mutex) { isOpen.load(ordering: .relaxed) }
      mutex.unlock()
    }
  }

  /// Counts how many of its kind are alive.
  final class Counted: Sendable {
    static let alive = Atomic<Int>(0)
    init() { Self.alive.wrappingAdd(1, ordering: .relaxed) }
    deinit { Self.alive.wrappingSubtract(1, ordering: .relaxed) }
  }
}

/// Runs a body as plain code: the bodies of exit tests are asynchronous, where nothing may block.
func synchronously(_ body: () throws -> Void) {
  do {
    try body()
  } catch {
    fatalError("\(error)")
  }
}
