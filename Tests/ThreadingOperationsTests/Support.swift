import Glibc
import Synchronization
import TestSupport
import Threading
import ThreadingPlatform

/// Counts how many of its tokens are alive.
final class Census: Sendable {
  private let alive = Atomic<Int>(0)

  var count: Int { alive.load(ordering: .acquiring) }

  func token() -> Token { Token(self) }

  final class Token: Sendable {
    private let census: Census

    fileprivate init(_ census: Census) {
      self.census = census
      census.alive.wrappingAdd(1, ordering: .relaxed)
    }

    deinit { census.alive.wrappingSubtract(1, ordering: .releasing) }
  }
}

/// A list that threads append to.
final class Journal<Entry: Sendable>: Sendable {
  private let list = Locked<[Entry]>([])

  var entries: [Entry] { list.withLock { $0 } }

  func append(_ entry: Entry) { list.withLock { $0.append(entry) } }
}

/// A gate that is shut until it is opened once.
final class Gate: Sendable {
  private let mutex = FastMutex()
  private let changed = ConditionVariable()
  private let isOpen = Atomic<Bool>(false)

  func open() {
    mutex.withLock { isOpen.store(true, ordering: .relaxed) }
    changed.broadcast()
  }

  /// Gives up after a minute, so that a failing test ends.
  @discardableResult
  func pass() -> Bool {
    let limit = MonotonicInstant.now.advanced(by: .seconds(60))
    mutex.lock()
    defer { mutex.unlock() }
    return changed.wait(mutex, until: limit) { isOpen.load(ordering: .relaxed) }
  }
}

/// How many are inside at once, now and at most.
final class Gauge: Sendable {
  private let state = Locked<(now: Int, most: Int)>((0, 0))

  var most: Int { state.withLock { $0.most } }
  var now: Int { state.withLock { $0.now } }

  func enter() {
    state.withLock { state in
      state.now += 1
      state.most = max(state.most, state.now)
    }
  }

  func leave() { state.withLock { $0.now -= 1 } }
}

/// An operation whose work goes on after `main()`, until it is told to finish.
final class Open: ThreadOperation, @unchecked Sendable {
  let begun = Gate()

  override var isAsynchronous: Bool { true }
  override func main() { begun.open() }
}

struct Oops: Error, Equatable {
  let code: Int
}

enum SystemYield {
  static func now() { SystemThread.yield() }
}

enum SystemStack {
  static func size() throws -> Int { try SystemThread.currentStack().size }
}

/// Waits from asynchronous code, whose thread the child process of an exit test may well block.
enum Waiting {
  static func uninterrupted(for operation: ThreadOperation) {
    _ = operation.wait(for: .seconds(20))
  }
}

/// Sizes of tests.
enum Scale {
  static let isSanitized = ThreadSanitizer.isActive

  /// A million, or fewer where the thread sanitizer makes each step many times as dear.
  static let million = isSanitized ? 50_000 : 1_000_000
}

/// Processor time of the calling thread, for tests of how a cost grows: other threads do not count.
enum OwnTime {
  static func of(_ body: () throws -> Void) rethrows -> Duration {
    let begin = now
    try body()
    return .nanoseconds(now - begin)
  }

  private static var now: Int64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}

/// How often a thread of this process has gone to sleep.
enum ContextSwitches {
  static func voluntary(of thread: UInt32) -> Int {
    guard let file = unsafe fopen("/proc/self/task/\(thread)/status", "re") else { return 0 }
    defer { _ = unsafe fclose(file) }
    var buffer = [CChar](repeating: 0, count: 256)
    while unsafe fgets(&buffer, CInt(buffer.count), file) != nil {
      let line = String(
        decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
      if line.hasPrefix("voluntary_ctxt_switches:") {
        return Int(line.drop { !$0.isNumber }.prefix { $0.isNumber }) ?? 0
      }
    }
    return 0
  }
}
