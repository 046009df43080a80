import Dispatch
import Foundation
import Synchronization
import Threading
import ThreadingFoundation

// What a user's file may look like: everything imported, nothing qualified. Each part checks what
// it gets, so that this program also is a test of the public interface from outside.

/// Stops the program when a part of the interface does not do what it should.
func check(_ holds: Bool, _ what: String) {
  guard holds else { fatalError("the consumer program: \(what)") }
  print("ok: \(what)")
}

// MARK: Threads of both families

final class Factorial: PosixThread<Int, any Error>, @unchecked Sendable {
  let number: Int

  init(of number: Int) {
    self.number = number
    super.init(ThreadAttributes(name: "factorial"))
  }

  override func main() throws -> Int {
    guard number >= 0 else { throw CocoaError(.formatting) }
    return (1...max(1, number)).reduce(1, *)
  }
}

let factorial = Factorial(of: 5)
try factorial.start()
check(try factorial.join() == 120, "a subclass of PosixThread returns its value")

let failing = Factorial(of: -1)
try failing.start()
do {
  _ = try failing.join()
  check(false, "a subclass of PosixThread throws its error")
} catch is CocoaError {
  check(true, "a subclass of PosixThread throws its error")
}

let attributes = ThreadAttributes(
  name: "with a name longer than the kernel keeps", stackSize: 65_536)
let posix = try PosixThread.start(attributes) { ThreadHandle.current.name }
let foundation = try FoundationThread.start(attributes) { ThreadHandle.current.name }
check(try posix.join() == attributes.name, "PosixThread keeps its full name")
check(try foundation.join() == attributes.name, "FoundationThread keeps its full name")

func nameOnThread<Family: ManagedThread<String?, Never>>(_ family: Family.Type) throws -> String? {
  try Family.start(ThreadAttributes(name: "generic")) { ThreadHandle.current.name }.join()
}
check(try nameOnThread(PosixThread<String?, Never>.self) == "generic", "code generic over families")
check(try nameOnThread(FoundationThread<String?, Never>.self) == "generic", "with either of them")

do throws(ThreadingError) {
  _ = try PosixThread.start(ThreadAttributes(stackSize: 1_000)) {}
  check(false, "a stack that is too small is refused")
} catch {
  check(error.codeName == "EINVAL" && error.message.contains("1000"), "refused: \(error)")
}

// A task awaits a thread, and blocks none meanwhile.
let awaited = try PosixThread.start { 6 * 7 }
let answer = Locked<Int?>(nil)
let answered = CountingSemaphore(0)
Task.detached {
  let value = try? await awaited.value
  answer.withLock { $0 = value }
  answered.release()
}
answered.acquire()
check(answer.withLock { $0 } == 42, "a task awaits a thread's value")

enum RequestID: ThreadDictionaryKey { typealias Value = Int }
ThreadHandle.current.dictionary[RequestID.self] = 42
check(ThreadDictionary.current[RequestID.self] == 42, "the thread dictionary")

// MARK: Locks, beside the standard library's

let standard = Mutex(0)
let counted = Locked(0)
let permits = CountingSemaphore(0)
for _ in 1...4 {
  try PosixThread.detach {
    for _ in 1...1_000 {
      standard.withLock { $0 += 1 }
      counted.withLock { $0 += 1 }
    }
    permits.release()
  }
}
permits.acquire(4)
check(counted.withLock { $0 } == standard.withLock { $0 }, "Locked counts as Mutex does")

// A class that is not Sendable, used from two threads: the box lends it, and it cannot get away.
final class Ledger {
  var entries: [Int] = []
}
let ledger = Locked(Ledger())
let writers = try (1...2).map { number in
  try PosixThread.start {
    for _ in 1...100 { ledger.withLock { $0.entries.append(number) } }
  }
}
for writer in writers { try writer.join() }
check(ledger.withLock { $0.entries.count } == 200, "a lock box over a class that is not Sendable")

final class Letterbox: Sendable {
  let mutex = FastMutex()
  let arrived = ConditionVariable()
  let letters = Atomic<Int>(0)
}
let letterbox = Letterbox()
try PosixThread.detach {
  letterbox.mutex.withLock { _ = letterbox.letters.add(1, ordering: .relaxed) }
  letterbox.arrived.signal()
}
let woken = letterbox.mutex.withLock {
  letterbox.arrived.wait(letterbox.mutex) { letterbox.letters.load(ordering: .relaxed) == 1 }
}
check(woken, "a condition variable wakes its waiter")

// MARK: The run loop

let loop = ThreadRunLoop.current
let done = ExitFlag()
let ticks = Locked(0)
try loop.add(
  ThreadTimer(every: .milliseconds(1)) { firing in
    ticks.withLock { $0 += 1 }
    if ticks.withLock({ $0 }) == 3 { firing.timer.cancel() }
  })
try loop.add(SignalSource(SIGUSR1) { _, _ in done.set() })
DispatchQueue.global().async { loop.perform { kill(getpid(), SIGUSR1) } }
check(loop.run(until: done) == .flagSet, "a signal arrives at the loop as an event")
check(MonotonicInstant.now < .now.advanced(by: .seconds(1)), "moments compare")

// MARK: Operations

let queue = try ThreadOperationQueue(
  name: "consumer", width: 2, attributes: ThreadAttributes(name: "consumer", stackSize: 131_072))
let parts = (1...4).map { number in ResultOperation { number * number } }
let sum = ClosureOperation { counted.withLock { $0 = 0 } }
for part in parts { try sum.addDependency(part) }
try queue.add(contentsOf: parts)
try queue.add(sum)
queue.waitForAll()
check(try parts.map { try $0.value() } == [1, 4, 9, 16], "operations return their values")
do throws(ThreadOperationError) {
  try queue.add(sum)
  check(false, "adding an operation that has finished is refused")
} catch {
  check(true, "refused: \(error)")
}
