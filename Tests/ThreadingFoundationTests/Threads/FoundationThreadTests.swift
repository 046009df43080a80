import Foundation
import Synchronization
import TestSupport
import Testing
import ThreadingFoundation
import ThreadingPlatform

private struct Refusal: Error, Equatable { let reason: String }

private final class Counter: FoundationThread<Int, Never>, @unchecked Sendable {
  override func main() -> Int { 42 }
}

/// Starts a thread of either family.
private func nameInside<Family: ManagedThread>(_ family: Family.Type) throws -> String?
where Family.Output == String?, Family.Failure == Never {
  let thread = try Family.start(ThreadAttributes(name: "either family", stackSize: 128 * 1024)) {
    ThreadHandle.current.name
  }
  return try thread.join()
}

/// Blocks the calling thread until `condition` holds.
private func wait(until condition: () -> Bool) {
  while !condition() { SystemThread.yield() }
}

/// A flag between threads.
private final class Flag: Sendable {
  private let value = Atomic<Bool>(false)
  var isSet: Bool { value.load(ordering: .acquiring) }
  func set() { value.store(true, ordering: .releasing) }
}

private final class Counted: Sendable {
  static let alive = Atomic<Int>(0)
  init() { Self.alive.wrappingAdd(1, ordering: .relaxed) }
  deinit { Self.alive.wrappingSubtract(1, ordering: .relaxed) }
}

private final class Ending: NSObject, @unchecked Sendable {
  private let onRelease: @Sendable () -> Void
  init(onRelease: @escaping @Sendable () -> Void) { self.onRelease = onRelease }
  deinit { onRelease() }
}

/// Runs a body as plain code: the bodies of exit tests are asynchronous, where nothing may block.
private func synchronously(_ body: () throws -> Void) {
  do {
    try body()
  } catch {
    fatalError("\(error)")
  }
}

@Suite("FoundationThread", .endsInTime)
struct FoundationThreadTests {
  @Test("a closure's value is what join returns, to each that asks")
  func value() throws {
    let thread = try FoundationThread.start { (1...100).reduce(0, +) }
    #expect(try thread.join() == 5050)
    #expect(try thread.join() == 5050)
    #expect(try thread.join(for: .zero) == 5050)
  }

  @Test("a body's error is thrown by join, with its type")
  func failure() throws {
    let thread = try FoundationThread.start { () throws(Refusal) in throw Refusal(reason: "full") }
    #expect(throws: Refusal(reason: "full")) { try thread.join() }
  }

  @Test("a subclass runs its main()")
  func subclass() throws {
    let counter = Counter(ThreadAttributes(name: "counter"))
    try counter.start()
    #expect(try counter.join() == 42)
  }

  @Test("inside, Foundation's current thread is this one, and is not the main thread")
  func current() throws {
    let inside = Locked<Foundation.Thread?>(nil)
    let thread = FoundationThread {
      inside.withLock { $0 = Foundation.Thread.current }
      return Foundation.Thread.isMainThread
    }
    #expect(thread.foundationThread == nil)
    try thread.start()
    #expect(try thread.join() == false)
    #expect(inside.withLock { $0 === thread.foundationThread })
  }

  @Test("a name set before the start sticks, here, inside and in Foundation's eyes")
  func name() throws {
    let thread = try FoundationThread.start(ThreadAttributes(name: "worker-A")) {
      (ThreadHandle.current.name, Foundation.Thread.current.name)
    }
    let inside = try thread.join()
    #expect(inside.0 == "worker-A")
    #expect(inside.1 == "worker-A")
    #expect(thread.name == "worker-A")
    thread.name = "ended"
    #expect(thread.name == "ended")
  }

  @Test("the stack has the size asked for", .enabled(if: !ThreadSanitizer.isActive))
  func stackSize() throws {
    for size in [40_960, 1 << 20] {
      let thread = try FoundationThread.start(ThreadAttributes(stackSize: size)) {
        try? ThreadHandle.current.stackUsage()
      }
      let usage = try #require(try thread.join())
      #expect(usage.size >= size && usage.size <= 4 * (size + 16_384))
      #expect(usage.guardSize == SystemThread.pageSize)
    }
  }

  @Test(
    "the smallest stack is enough for the first thread of a process",
    .enabled(if: !ThreadSanitizer.isActive))
  func smallestStack() async {
    await #expect(processExitsWith: .success) {
      synchronously {
        let attributes = ThreadAttributes(stackSize: ThreadAttributes.minimumStackSize)
        let thread = try FoundationThread.start(attributes) { 1 }
        let value = try thread.join()
        precondition(value == 1)
      }
    }
  }

  @Test(
    "a stack size out of range is refused, whether the system or Foundation does not take it",
    arguments: [1_000, -1, Int.max, 2 << 30])
  func badStackSize(size: Int) throws {
    let thread = FoundationThread(ThreadAttributes(stackSize: size)) {}
    let error = try #require(throws: ThreadingError.self) { try thread.start() }
    #expect(error.call == "ThreadAttributes.stackSize")
    #expect(error.codeName == "EINVAL")
    #expect(error.message.contains("\(size) bytes"))
    #expect(thread.state == .notStarted)
    #expect(throws: ThreadingError.self) { try thread.join() }
  }

  @Test("scheduling, processors and blocked signals are in force before the body runs")
  func setup() throws {
    var attributes = ThreadAttributes(scheduling: .other(nice: 6))
    attributes.cpus = CPUSet(try CPUSet.allowed().numbers.prefix(1))
    attributes.blockedSignals = [10]
    let thread = try FoundationThread.start(attributes) {
      (
        try? ThreadHandle.current.scheduling(), try? ThreadHandle.current.affinity(),
        SystemThread.isBlocked(10)
      )
    }
    let inside = try thread.join()
    #expect(inside.0 == .other(nice: 6))
    #expect(inside.1 == attributes.cpus)
    #expect(inside.2)
    attributes.cpus = CPUSet([60_000])
    #expect(throws: ThreadingError.self) { try FoundationThread.start(attributes) {} }
    attributes = ThreadAttributes()
    attributes.guardSize = 4096
    #expect(throws: ThreadingError.self) { try FoundationThread.start(attributes) {} }
  }

  @Test("a stack of the caller's is refused, and gives back nothing that was not taken")
  func stackOfTheCaller() throws {
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 4096)
    let stack = try unsafe ThreadStack(memory) { unsafe $0.deallocate() }
    var attributes = ThreadAttributes()
    attributes.stack = stack
    let error = try #require(throws: ThreadingError.self) {
      try FoundationThread.start(attributes) {}
    }
    #expect(error.call == "ThreadAttributes.stack" && error.codeName == "EINVAL")
    #expect(!stack.isInUse)
  }

  @Test("the default stack size of the process and a measured stack serve Foundation's threads too")
  func defaultStack() async {
    await #expect(processExitsWith: .success) {
      synchronously {
        try ThreadAttributes.setDefaultStackSize(400_000)
        var attributes = ThreadAttributes()
        attributes.isStackMeasured = true
        let thread = try FoundationThread.start(attributes) {
          try? ThreadHandle.current.stackUsage()
        }
        let usage = try thread.join()
        guard let usage else { fatalError("no usage") }
        precondition(usage.size >= 400_000, "\(usage)")
        precondition(ThreadSanitizer.isActive || usage.size < 416_384, "\(usage)")
        precondition(usage.highWaterMark > 0 && usage.highWaterMark < 100_000, "\(usage)")
      }
    }
  }

  @Test("an exit waits for a thread that keeps the process open")
  func keepsProcessOpen() async {
    let result = await #expect(
      processExitsWith: .exitCode(5), observing: [\.standardErrorContent]
    ) {
      synchronously {
        var attributes = ThreadAttributes()
        attributes.keepsProcessOpen = true
        let leaving = Flag()
        _ = try FoundationThread.start(attributes) {
          wait { leaving.isSet }
          SystemThread.sleep(until: .now.advanced(by: .milliseconds(50)))
          SystemThread.report("written at the end")
        }
        leaving.set()
        Foundation.exit(5)
      }
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(text.contains("written at the end"))
  }

  @Test("a snapshot and a fork know a thread of Foundation")
  func registry() async {
    await #expect(processExitsWith: .success) {
      synchronously {
        let gate = Flag()
        let thread = try FoundationThread.start(ThreadAttributes(name: "listed")) {
          wait { gate.isSet }
        }
        let id = thread.handle.kernelID
        let listed = try ThreadSnapshot.all().first { $0.id == id }
        precondition(listed?.origin == .foundation && listed?.name == "listed")
        precondition(!thread.isDetached)
        let status = inForkedChild {
          do throws(ThreadingError) {
            try thread.join()
            return false
          } catch {
            return error.message.contains("the parent process's")
          }
        }
        requireSuccess(ofChild: status)
        gate.set()
        try thread.join()
        try thread.detach()
        precondition(thread.isDetached)
      }
    }
  }

  @Test("tasks of both families' generic code wait for a thread's value without blocking")
  func asynchronousValue() async throws {
    func value<Thread: ManagedThread>(of thread: Thread) async throws -> Thread.Output {
      try await thread.value
    }
    let flag = Flag()
    let threads = try (0..<10).map { index in
      try FoundationThread.start(ThreadAttributes(stackSize: 64 << 10)) {
        wait { flag.isSet }
        return index
      }
    }
    let sum = try await withThrowingTaskGroup(of: Int.self) { group in
      for thread in threads { group.addTask { try await value(of: thread) } }
      group.addTask {
        flag.set()
        return 0
      }
      return try await group.reduce(0, +)
    }
    #expect(sum == 45)
    let posix = try PosixThread.start { 6 }
    #expect(try await value(of: posix) == 6)
    let idle = FoundationThread {}
    let error = await #expect(throws: ThreadingError.self) { try await idle.value }
    #expect(error?.call == "FoundationThread.value" && error?.codeName == "ESRCH")
    let detached = try FoundationThread.start(ThreadAttributes(isDetached: true)) {}
    await #expect(throws: ThreadingError.self) { try await detached.value }
    try await detached.handle.waitForEnd()
    #expect(detached.state == .finished)
  }

  @Test("both families answer to the same generic code")
  func families() throws {
    #expect(try nameInside(FoundationThread<String?, Never>.self) == "either family")
    #expect(try nameInside(PosixThread<String?, Never>.self) == "either family")
  }

  @Test("any number of threads join, with and without a limit")
  func manyJoiners() throws {
    let gate = Flag()
    let thread = try FoundationThread.start {
      wait { gate.isSet }
      return 7
    }
    #expect(try thread.join(for: .milliseconds(5)) == nil)
    let answers = Atomic<Int>(0)
    try concurrently(8) { index in
      if index == 0 { gate.set() }
      let isLimited = index.isMultiple(of: 2)
      let answer = isLimited ? try? thread.join(for: .seconds(50)) : try? thread.join()
      answers.wrappingAdd(answer ?? 0, ordering: .relaxed)
    }
    #expect(answers.load(ordering: .relaxed) == 56)
    #expect(thread.state == .finished)
  }

  @Test("join is refused to the thread itself, before the start, and for a detached thread")
  func refusals() throws {
    let early = FoundationThread {}
    #expect(throws: ThreadingError.self) { try early.join() }
    #expect(throws: ThreadingError.self) { try early.detach() }

    let me = Locked<FoundationThread<String, Never>?>(nil)
    let thread = FoundationThread { () -> String in
      do throws(ThreadingError) {
        return try me.withLock { $0 }?.join() ?? "nobody"
      } catch {
        return error.codeName
      }
    }
    me.withLock { $0 = thread }
    try thread.start()
    #expect(try thread.join() == "EDEADLK")
    me.withLock { $0 = nil }

    try thread.detach()
    let error = try #require(throws: ThreadingError.self) { try thread.join() }
    #expect(error.message.contains("detached"))
    let detached = try FoundationThread.start(ThreadAttributes(isDetached: true)) {}
    #expect(throws: ThreadingError.self) { try detached.join() }
    #expect(eventually { detached.state == .finished })
  }

  @Test("values in both dictionaries are released before join returns")
  func dictionaries() throws {
    for _ in 0..<20 {
      let released = Atomic<Int>(0)
      let thread = try FoundationThread.start {
        let foundation = Foundation.Thread.current.threadDictionary
        foundation["key"] = Ending { released.wrappingAdd(1, ordering: .relaxed) }
        ThreadDictionary.current["key"] = Ending { released.wrappingAdd(1, ordering: .relaxed) }
      }
      #expect(thread.foundationThread != nil)
      try thread.join()
      #expect(released.load(ordering: .relaxed) == 2)
      #expect(thread.handle.dictionary["key"] == nil)
    }
  }

  @Test("cancelling is seen inside")
  func cancel() throws {
    let thread = try FoundationThread.start { wait { ThreadHandle.current.isCancelled } }
    thread.cancel()
    try thread.join()
    #expect(thread.isCancelled)
  }

  @Test("a body broken off by Foundation's exit is reported to who joins")
  func exit() throws {
    let thread = try FoundationThread.start { Foundation.Thread.exit() }
    let error = try #require(throws: ThreadingError.self) { try thread.join() }
    #expect(error.codeName == "ECANCELED")
  }

  @Test("two hundred threads one after another leave none of their captures")
  func captures() throws {
    for _ in 0..<200 {
      let counted = Counted()
      let thread = try FoundationThread.start { withExtendedLifetime(counted) {} }
      try thread.join()
    }
    #expect(Counted.alive.load(ordering: .relaxed) == 0)
  }

  @Test(
    "with the address space used up a start is refused, and works once there is room",
    .enabled(if: !ThreadSanitizer.isActive))
  func addressSpaceCapped() async {
    await #expect(processExitsWith: .success) {
      synchronously {
        let cap = MemoryCap.lowered(leaving: 64 << 20)
        let thread = FoundationThread(ThreadAttributes(name: "big", stackSize: 512 << 20)) {
          [counted = Counted()] in
          withExtendedLifetime(counted) { 8 }
        }
        do throws(ThreadingError) {
          try thread.start()
          fatalError("started")
        } catch {
          precondition(error.call == "pthread_create", "\(error)")
          precondition(error.codeName == "ENOMEM" || error.codeName == "EAGAIN", "\(error)")
          precondition(error.message.contains("\(512 << 20) bytes"), "\(error)")
        }
        precondition(thread.state == .notStarted && thread.foundationThread == nil)
        cap.restore()
        try thread.start()
        let value = try thread.join()
        precondition(value == 8)
        precondition(Counted.alive.load(ordering: .relaxed) == 0)
      }
    }
  }

  @Test(
    "what a refused start was given is released",
    .enabled(if: !ThreadSanitizer.isActive))
  func refusedReleases() async {
    await #expect(processExitsWith: .success) {
      let cap = MemoryCap.lowered(leaving: 64 << 20)
      for _ in 0..<3 {
        let counted = Counted()
        let attributes = ThreadAttributes(stackSize: 512 << 20)
        let thread = try? FoundationThread.start(attributes) { withExtendedLifetime(counted) {} }
        precondition(thread == nil)
      }
      cap.restore()
      precondition(Counted.alive.load(ordering: .relaxed) == 0)
    }
  }

  @Test("a thread without a body, and a main() called by hand, stop the program with the reason")
  func mainMisused() async {
    let empty = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      synchronously {
        let thread = FoundationThread<Int, Never>()
        try thread.start()
        try thread.join()
      }
    }
    let first = String(decoding: empty?.standardErrorContent ?? [], as: UTF8.self)
    #expect(first.contains("FoundationThread.main") && first.contains("has neither a body"))
    let byHand = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      FoundationThread {}.main()
    }
    let second = String(decoding: byHand?.standardErrorContent ?? [], as: UTF8.self)
    #expect(second.contains("FoundationThread.main: not called by the thread itself"))
  }

  @Test("starting twice stops the program with the thread's name and state")
  func startTwice() async {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      synchronously {
        let thread = FoundationThread(ThreadAttributes(name: "twice")) {}
        try thread.start()
        try thread.join()
        try thread.start()
      }
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(text.contains("FoundationThread.start"))
    #expect(text.contains("\"twice\" was started before; it is finished"))
  }
}
