import Synchronization
import TestSupport
import Testing
import Threading
import ThreadingThreads

@Suite("ThreadLocal, seen from outside", .endsInTime)
struct VisibleThreadLocalTests {
  private func seen<Value: Sendable>(_ local: ThreadLocal<Value>) -> [String: Value] {
    var values: [String: Value] = [:]
    local.forEachThread { thread, value in values[thread.name ?? "unnamed"] = value }
    return values
  }

  @Test("forEachThread sees the present value of every thread that has one and lives")
  func present() throws {
    let local = ThreadLocal(isVisible: true) { 0 }
    let gates = (0..<3).map { _ in Shared.Gate() }
    let hasStored = CountdownLatch(2)
    let threads = try (0..<3).map { index in
      try PosixThread.start(ThreadAttributes(name: "visible \(index)")) {
        if index < 2 {
          local.value = index + 1
          local.value += 10
          local.withValue { $0 += 100 }
          hasStored.countDown()
        }
        gates[index].wait()
      }
    }
    hasStored.wait()
    #expect(seen(local) == ["visible 0": 111, "visible 1": 112])
    gates[0].open()
    try threads[0].join()
    #expect(seen(local) == ["visible 1": 112])
    for gate in gates { gate.open() }
    for thread in threads { try thread.join() }
    #expect(seen(local).isEmpty)
  }

  @Test(
    "a value that is being changed is seen as it was, and kept as changed when the change throws")
  func duringChange() throws {
    struct Stop: Error {}
    let local = ThreadLocal(isVisible: true) { [Int]() }
    let isInside = Shared.Flag()
    let gate = Shared.Gate()
    let thread = try PosixThread.start(ThreadAttributes(name: "changing")) { () -> [Int] in
      local.value = [1]
      do {
        try local.withValue { value in
          value.append(2)
          isInside.set()
          gate.wait()
          throw Stop()
        }
      } catch {}
      local.remove()
      let isGone = !local.hasValue
      local.value = [3]
      return isGone ? local.value : []
    }
    isInside.wait()
    #expect(seen(local) == ["changing": [1]])
    gate.open()
    #expect(try thread.join() == [3])
  }

  @Test("using a visible variable inside its own withValue stops the program")
  func nested() async {
    await #expect(processExitsWith: .failure) {
      let local = ThreadLocal(isVisible: true) { 0 }
      local.withValue { $0 = local.value + 1 }
    }
  }

  @Test("forEachThread of a variable that is not visible stops the program, with its reason")
  func invisible() async {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      let local = ThreadLocal { 0 }
      local.forEachThread { _, _ in }
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(text.contains("ThreadLocal.forEachThread"))
  }

  @Test(
    "looking while threads store, change, remove and end never meets half a value",
    arguments: [1, 2])
  func stress(seed: UInt64) throws {
    // Each value says twice the same; alive counts what is not released.
    struct Value: Sendable {
      let number: Int
      let text: String
      let counted = Shared.Counted()
      init(_ number: Int) {
        self.number = number
        text = "the number \(number)"
      }
    }
    let local = ThreadLocal(isVisible: true) { Value(0) }
    let isOver = Shared.Flag()
    let wrong = Atomic<Int>(0)
    let looks = Atomic<Int>(0)
    let stop = try inBackground {
      while !isOver.isSet {
        local.forEachThread { _, value in
          if value.text != "the number \(value.number)" { wrong.wrappingAdd(1, ordering: .relaxed) }
          looks.wrappingAdd(1, ordering: .relaxed)
        }
        // The others need the lock, too.
        waitABit()
      }
    }
    try concurrently(3) { lane in
      var random = SeededGenerator(seed: seed &+ UInt64(lane))
      var rounds = 0
      while rounds < 30 || looks.load(ordering: .relaxed) < 20 {
        rounds += 1
        let steps = Int.random(in: 1..<20, using: &random)
        let thread = try? PosixThread.start(ThreadAttributes(stackSize: 1 << 18)) {
          for step in 0..<steps {
            switch step % 4 {
            case 0: local.value = Value(step)
            case 1: local.withValue { $0 = Value($0.number + 1) }
            case 2: local.remove()
            default: _ = local.value
            }
            waitABit()
          }
        }
        _ = try? thread?.join()
      }
    }
    isOver.set()
    stop()
    #expect(wrong.load(ordering: .relaxed) == 0)
    #expect(looks.load(ordering: .relaxed) > 0)
    local.forEachThread { thread, _ in Issue.record("\(thread) has ended") }
  }

  @Test("values seen from outside are released once, with their thread or by who still has them")
  func released() throws {
    final class Probe: Sendable {
      let released: Shared.Flag
      init(_ released: Shared.Flag) { self.released = released }
      deinit { released.set() }
    }
    let flag = Shared.Flag()
    let local = ThreadLocal<Probe?>(isVisible: true) { nil }
    let gate = Shared.Gate()
    let hasStored = CountdownLatch(1)
    let thread = try PosixThread.start {
      local.value = Probe(flag)
      hasStored.countDown()
      gate.wait()
    }
    hasStored.wait()
    var kept: Probe?
    local.forEachThread { _, value in kept = value }
    gate.open()
    try thread.join()
    #expect(kept != nil && !flag.isSet)
    kept = nil
    #expect(flag.isSet)
  }
}

@Suite("ThreadLocal, inherited", .endsInTime)
struct InheritedThreadLocalTests {
  @Test("a thread starts with what its starter has at that moment, or what is made of it")
  func inherited() throws {
    let copied = ThreadLocal(inheriting: { $0 }) { "own" }
    let counted = ThreadLocal(inheriting: { $0 + 1 }) { 0 }
    let refused = ThreadLocal(inheriting: { _ in nil }) { "own" }
    let plain = ThreadLocal { "own" }
    let unset = ThreadLocal(inheriting: { $0 }) { "own" }
    let outer = try PosixThread.start { () throws -> [String] in
      copied.value = "parent's"
      counted.value = 5
      refused.value = "parent's"
      plain.value = "parent's"
      let child = try PosixThread.start { () throws -> [String] in
        let mine = [copied.value, "\(counted.value)", refused.value, plain.value, unset.value]
        // A grandchild inherits from the child, which has changed its copy.
        copied.value = "child's"
        let grandchild = try PosixThread.start { "\(copied.value) \(counted.value)" }
        return mine + [try grandchild.join()]
      }
      copied.value = "parent's later"
      return try child.join() + [copied.value, "\(counted.value)"]
    }
    #expect(
      try outer.join() == [
        "parent's", "6", "own", "own", "own", "child's 7", "parent's later", "5",
      ])
  }

  @Test("what is inherited is taken at the start, not when the thread object is made")
  func moment() throws {
    let local = ThreadLocal(inheriting: { $0 }) { 0 }
    let outer = try PosixThread.start { () throws -> Int in
      local.value = 1
      let child = PosixThread { local.value }
      local.value = 2
      try child.start()
      local.value = 3
      return try child.join()
    }
    #expect(try outer.join() == 2)
  }

  @Test("threads in a scope and in the background inherit; foreign threads and pools do not")
  func whichThreads() throws {
    let local = ThreadLocal(inheriting: { $0 }) { 0 }
    let outer = try PosixThread.start { () throws -> [Int] in
      local.value = 7
      let scoped = try withThreads { scope in try scope.start { local.value }.join() }
      let box = Locked<[Int]>([])
      let latch = CountdownLatch(2)
      try PosixThread.detach {
        box.withLock { $0.append(local.value) }
        latch.countDown()
      }
      latch.countDown()
      latch.wait()
      try concurrently(1) { _ in box.withLock { $0.append(local.value) } }
      let pool = try ThreadPool(maximumThreads: 1)
      let done = CountdownLatch(1)
      try pool.run {
        box.withLock { $0.append(local.value) }
        done.countDown()
      }
      done.wait()
      return [scoped] + box.withLock { $0 }
    }
    #expect(try outer.join() == [7, 7, 0, 0])
  }

  @Test("inherited values are released with their threads, and not taken along after removal")
  func released() throws {
    let before = Shared.Counted.alive.load(ordering: .relaxed)
    let local = ThreadLocal<Shared.Counted?>(
      isVisible: true, inheriting: { _ in Shared.Counted() }
    ) { nil }
    let outer = try PosixThread.start { () throws -> [Bool] in
      local.value = Shared.Counted()
      let first = try PosixThread.start { local.value != nil }.join()
      local.remove()
      let second = try PosixThread.start { local.value != nil }.join()
      return [first, second]
    }
    #expect(try outer.join() == [true, false])
    #expect(eventually { Shared.Counted.alive.load(ordering: .relaxed) <= before })
  }

  @Test("a refused start lets go of what would have been inherited")
  func refusedStart() throws {
    let made = Locked<[WeakCounted]>([])
    let local = ThreadLocal<Shared.Counted?>(
      inheriting: { _ in
        let counted = Shared.Counted()
        made.withLock { $0.append(WeakCounted(counted)) }
        return counted
      }) { nil }
    let outer = try PosixThread.start { () -> Bool in
      local.value = Shared.Counted()
      let child = PosixThread(ThreadAttributes(stackSize: 1)) {}
      let isRefused = (try? child.start()) == nil
      // The thread's object is still there, and could be started again.
      return withExtendedLifetime(child) {
        isRefused && made.withLock { $0.count == 1 && $0[0].object == nil }
      }
    }
    #expect(try outer.join())
  }

  @Test("thousands of variables, visible and inherited, need none of the system's keys")
  func many() throws {
    let locals = (0..<5_000).map { number in
      ThreadLocal(isVisible: true, inheriting: { $0 + 1 }) { number }
    }
    let outer = try PosixThread.start { () throws -> [Int] in
      for local in locals { local.value = 1 }
      return try PosixThread.start { locals.map(\.value) }.join()
    }
    #expect(try outer.join() == [Int](repeating: 2, count: 5_000))
  }
}

private final class WeakCounted: @unchecked Sendable {
  // SAFETY of @unchecked: weak references may be read by any thread.
  private(set) weak var object: Shared.Counted?
  init(_ object: Shared.Counted) { self.object = object }
}
