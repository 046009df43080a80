import Dispatch
import Synchronization
import TestSupport
import Testing
import Threading
import ThreadingPlatform
import ThreadingThreads

// One after the other: they count what the whole process has.
@Suite("Endings of threads", .serialized, .endsInTime)
struct ThreadLifeTests {
  private struct Leaving: Error {}

  @Test("a thread left early by throwing runs its defers and frees what its body captured")
  func earlyExit() throws {
    let before = Shared.Counted.alive.load(ordering: .relaxed)
    let defers = Atomic<Int>(0)
    for index in 0..<20 {
      let counted = Shared.Counted()
      let thread = try PosixThread.start { () throws -> Int in
        defer { defers.wrappingAdd(1, ordering: .relaxed) }
        let own = Shared.Counted()
        return try withExtendedLifetime((own, counted)) {
          if index.isMultiple(of: 2) { throw Leaving() }
          return index
        }
      }
      let outcome = try thread.result()
      #expect((try? outcome.get()) == (index.isMultiple(of: 2) ? nil : index))
    }
    #expect(defers.load(ordering: .relaxed) == 20)
    // Other tests count too, and end in time.
    #expect(eventually { Shared.Counted.alive.load(ordering: .relaxed) <= before })
  }

  @Test("state and cancellation are asked and changed from other threads while it runs and ends")
  func polled() throws {
    for _ in 0..<50 {
      let note = Shared.Note()
      let thread = PosixThread { () -> Int in
        var rounds = 0
        while !ThreadHandle.current.isCancelled { rounds += 1 }
        note.value = 42
        return rounds
      }
      let seen = Atomic<Int>(0)
      try thread.start()
      try concurrently(3) { index in
        if index == 0 { thread.cancel(reason: "polled") }
        while thread.state != .finished { SystemThread.yield() }
        // No join: the state alone makes what the thread wrote visible.
        if note.value == 42 && thread.isCancelled { seen.wrappingAdd(1, ordering: .relaxed) }
      }
      #expect(seen.load(ordering: .relaxed) == 3)
    }
  }

  @Test("after the end, joined or detached, everything asked of a thread has a defined answer")
  func afterTheEnd() throws {
    let joined = try PosixThread.start(ThreadAttributes(name: "over")) { 5 }
    #expect(try joined.join() == 5)
    let detached = try PosixThread.start(ThreadAttributes(isDetached: true)) { 6 }
    #expect(eventually { detached.state == .finished })
    for thread in [joined, detached] {
      let handle = thread.handle
      thread.name = "renamed"
      thread.cancel(reason: "late")
      handle.dictionary["late"] = 1
      #expect(thread.name == "renamed")
      #expect(handle.isCancelled && handle.cancellationReason == "late")
      #expect(handle.dictionary["late"] == nil)
      #expect(handle.state == .finished)
      #expect(!handle.isCurrent && !handle.isMain)
      #expect(handle.description.contains("renamed"))
      #expect(throws: ThreadingError.self) { try handle.scheduling() }
      #expect(throws: ThreadingError.self) { try handle.setScheduling(.other(nice: 0)) }
      #expect(throws: ThreadingError.self) { try handle.affinity() }
      try thread.detach()
    }
    #expect(try joined.join() == 5)
    #expect(try joined.join(for: .zero) == 5)
    #expect(try joined.joinUnlessCancelled() == 5)
    #expect(throws: ThreadingError.self) { try detached.join() }
  }

  @Test("starting twice stops the program, while it runs and from two threads at once")
  func startedTwice() async {
    let running = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      synchronously {
        let gate = Shared.Gate()
        let thread = PosixThread(ThreadAttributes(name: "running twice")) { gate.wait() }
        try thread.start()
        try thread.start()
      }
    }
    let text = String(decoding: running?.standardErrorContent ?? [], as: UTF8.self)
    #expect(text.contains("\"running twice\" was started before"))
    let racing = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      synchronously {
        let gate = Shared.Gate()
        let thread = PosixThread(ThreadAttributes(name: "raced")) { gate.wait() }
        try concurrently(2) { _ in _ = try? thread.start() }
      }
    }
    let other = String(decoding: racing?.standardErrorContent ?? [], as: UTF8.self)
    #expect(other.contains("\"raced\" was started before"))
  }

  @Test("ten thousand threads are parked at once, each with its stack, and all end")
  func parked() async {
    // In a process of its own: the figures are those of the whole process.
    await #expect(processExitsWith: .success) { try ThreadLifeTests().checkParked() }
  }

  fileprivate func checkParked() throws {
    let count =
      ThreadSanitizer.isActive ? 200 : LongTests.areOn ? 10_000 : 2_000
    let gate = Shared.Gate()
    let attributes = ThreadAttributes(stackSize: 64 << 10)
    let before = ProcessFigures.now().threads
    let arrived = CountdownLatch(count)
    let threads = try (0..<count).map { _ in
      try PosixThread.start(attributes) {
        arrived.countDown()
        gate.wait()
      }
    }
    arrived.wait()
    #expect(ProcessFigures.now().threads >= before + count - 8)
    gate.open()
    for thread in threads { try thread.join() }
    #expect(eventually { ProcessFigures.now().threads <= before + 8 })
  }

  @Test("a parked thread takes at most a tenth more memory than a bare one of the system")
  func memory() async {
    // In a process of its own: the figures are those of the whole process.
    await #expect(processExitsWith: .success) { try ThreadLifeTests().checkMemory() }
  }

  fileprivate func checkMemory() throws {
    if ThreadSanitizer.isActive { return }
    let count = 1_000
    func perThread(_ start: (@escaping @Sendable () -> Void) throws -> () -> Void) throws -> Int {
      let gate = Shared.Gate()
      let arrived = CountdownLatch(count)
      let before = ProcessFigures.now().residentBytes
      let joins = try (0..<count).map { _ in
        try start {
          arrived.countDown()
          gate.wait()
        }
      }
      arrived.wait()
      let bytes = ProcessFigures.now().residentBytes - before
      gate.open()
      for join in joins { join() }
      return bytes / count
    }
    // Stacks of ended threads are used again, which the first time round makes equal for both.
    var ratios: [Double] = []
    for round in 0..<5 {
      let bare = try perThread { body in
        let thread = try SystemThread.start(.init(stackSize: 64 << 10), body: body)
        return { thread.join() }
      }
      let ours = try perThread { body in
        let thread = try PosixThread.start(ThreadAttributes(stackSize: 64 << 10), body: body)
        return { _ = try? thread.join() }
      }
      if round > 0 { ratios.append(Double(ours) / Double(max(1, bare))) }
    }
    // What other tests take and give back meanwhile is in some of them.
    ratios.sort()
    #expect(ratios[ratios.count / 2 - 1] <= 1.1, "\(ratios)")
  }

  @Test("starting and ending threads again and again leaves no memory, threads or descriptors")
  func cycles() async {
    // In a process of its own: the figures are those of the whole process.
    await #expect(processExitsWith: .success) { try ThreadLifeTests().checkCycles() }
  }

  fileprivate func checkCycles() throws {
    let count = ThreadSanitizer.isActive ? 500 : LongTests.areOn ? 1_000_000 : 5_000
    let attributes = ThreadAttributes(stackSize: 64 << 10)
    for isDetached in [false, true] {
      func run(_ count: Int) throws {
        let inFlight = CountingSemaphore(16)
        for _ in 0..<count {
          if isDetached {
            inFlight.acquire()
            try PosixThread.detach(attributes) { inFlight.release() }
          } else {
            try PosixThread.start(attributes) {}.join()
          }
        }
        inFlight.acquire(16)
      }
      try run(count / 10)
      let before = ProcessFigures.now()
      try run(count)
      #expect(eventually { ProcessFigures.now().threads <= before.threads + 4 })
      let after = ProcessFigures.now()
      #expect(after.descriptors <= before.descriptors + 4)
      if !ThreadSanitizer.isActive {
        let kept = ProcessFigures.mapsOfKeptStacks(ofBytes: 64 << 10)
        #expect(eventually { ProcessFigures.now().maps <= before.maps + kept + 60 })
        // Other tests run beside this one: what each cycle would leave behind is many times this.
        let growth = after.residentBytes - before.residentBytes
        #expect(growth < max(64 << 20, count * 64), "grown by \(growth) bytes")
      }
    }
  }

  @Test("jobs on Dispatch's threads store values, which are released when those threads end")
  func dispatchWorkers() async {
    // In a process of its own, where no other test keeps those threads at work.
    await #expect(processExitsWith: .success) { try ThreadLifeTests().checkDispatchWorkers() }
  }

  fileprivate func checkDispatchWorkers() throws {
    let count = LongTests.areOn ? 1_000 : 100
    let group = DispatchGroup()
    let made = Atomic<Int>(0)
    let releasedElsewhere = Atomic<Int>(0)
    for index in 0..<count {
      DispatchQueue.global().async(group: group) {
        let me = SystemThread.currentID
        ThreadDictionary.current["job \(index)"] = Shared.Counted()
        ThreadDictionary.current["watch \(index)"] = AtRelease {
          if SystemThread.currentID != me { releasedElsewhere.wrappingAdd(1, ordering: .relaxed) }
        }
        made.wrappingAdd(1, ordering: .relaxed)
      }
    }
    group.wait()
    precondition(made.load(ordering: .relaxed) == count)
    // Dispatch ends its idle threads after some seconds.
    precondition(eventually { Shared.Counted.alive.load(ordering: .relaxed) == 0 })
    precondition(releasedElsewhere.load(ordering: .relaxed) == 0)
  }
}

/// Does something when it is released.
private final class AtRelease: Sendable {
  private let body: @Sendable () -> Void
  init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  deinit { body() }
}
