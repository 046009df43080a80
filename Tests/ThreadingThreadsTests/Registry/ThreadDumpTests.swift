import Glibc
import Synchronization
import TestSupport
import Testing
import Threading
import ThreadingPlatform

/// Waits in a call that a dump must show.
@inline(never)
private func waitDeepInside(_ depth: Int, _ gate: Shared.Gate) -> Int {
  if depth == 0 {
    gate.wait()
    return 0
  }
  return waitDeepInside(depth - 1, gate) + 1
}

/// The sanitizer puts signals off until the thread makes a call that it knows: a thread that sleeps on a
/// word or computes makes none, and does not answer.
private let threadsAnswer = ConditionTrait.disabled(
  if: ThreadSanitizer.isActive,
  "under the thread sanitizer a thread that sleeps or computes does not handle signals")

@Suite("ThreadDump", .endsInTime)
struct ThreadDumpTests {
  @Test("a dump has the calls of a sleeping thread, a busy one and the calling one", threadsAnswer)
  func calls() throws {
    let gate = Shared.Gate()
    let stop = Shared.Flag()
    let busyIsThere = Shared.Flag()
    let sleeper = try PosixThread.start(ThreadAttributes(name: "sleeper")) { () -> Int in
      SystemThreadReport.unblockAllSignals()
      return waitDeepInside(20, gate)
    }
    let busy = try PosixThread.start(ThreadAttributes(name: "busy")) {
      SystemThreadReport.unblockAllSignals()
      busyIsThere.set()
      while !stop.isSet {}
    }
    busyIsThere.wait()
    #expect(eventually { SystemThreadReport.isAsleep(sleeper.handle) })
    let dump = try ThreadDump.capture(waiting: .seconds(5), inAll: .seconds(20))
    gate.open()
    stop.set()
    #expect(try sleeper.join() == 20)
    try busy.join()

    func entry(_ handle: ThreadHandle) throws -> ThreadDump.Entry {
      try #require(dump.threads.first { $0.thread.id == handle.kernelID })
    }
    let asleep = try entry(sleeper.handle)
    #expect(asleep.gap == nil)
    // The recursion is of one function: its return address is there for each call that is under way.
    let addresses = asleep.frames.map { $0.address }
    let most = Dictionary(grouping: addresses) { $0 }.values.map { $0.count }.max() ?? 0
    #expect(most >= 18, "\(asleep.frames)")
    #expect(asleep.frames.first?.module?.contains("libc") == true)
    #expect(asleep.frames.last?.module?.contains("libc") == true, "it ends where threads begin")
    #expect(asleep.frames.contains { $0.module?.contains(".xctest") == true && $0.offset > 0 })
    let running = try entry(busy.handle)
    #expect(running.gap == nil && running.frames.count >= 3)
    let own = try entry(.current)
    #expect(own.gap == nil && own.frames.count >= 3)

    let text = dump.description
    // Not what it does: a dump of another test may have it awake for a moment.
    #expect(text.contains("\"sleeper\" (posix): "))
    #expect(text.contains("libc"))
  }

  @Test("a thread that blocks all signals, and one that ended, are named as such")
  func gaps() throws {
    let gate = Shared.Gate()
    let isThere = Shared.Flag()
    var attributes = ThreadAttributes(name: "deaf")
    attributes.blockedSignals = Set(34...64)
    let deaf = try PosixThread.start(attributes) {
      isThere.set()
      gate.wait()
    }
    isThere.wait()
    let dump = try ThreadDump.capture()
    gate.open()
    try deaf.join()
    let entry = try #require(dump.threads.first { $0.thread.handle === deaf.handle })
    #expect(entry.gap == .blocksSignal)
    #expect(entry.frames.isEmpty)
    #expect(dump.description.contains("it blocks the signal"))
    guard
      case .failure(.ended) = ThreadSampler.sample(
        UInt32(Int32.max), withFrames: true, until: .now.advanced(by: .seconds(5)))
    else {
      Issue.record("a thread that does not exist has answered")
      return
    }
  }

  @Test(
    "answers that come too late do not get into later dumps", threadsAnswer, arguments: [200])
  func lateAnswers(rounds: Int) throws {
    let stop = Shared.Flag()
    let gate = Shared.Gate()
    let ready = CountdownLatch(4)
    let others = try (0..<4).map { index in
      try PosixThread.start(ThreadAttributes(name: "other \(index)")) {
        SystemThreadReport.unblockAllSignals()
        ready.countDown()
        if index < 2 { gate.wait() } else { while !stop.isSet { waitABit() } }
      }
    }
    ready.wait()
    for round in 0..<rounds {
      let isPatient = round.isMultiple(of: 10)
      for other in others {
        let limit = MonotonicInstant.now.advanced(by: isPatient ? .seconds(20) : .zero)
        let answer = ThreadSampler.sample(other.handle.kernelID, withFrames: true, until: limit)
        switch answer {
        case .success(let sample):
          // It is that thread's: its stack pointer lies in its stack.
          let stack = try other.handle.systemStack()
          let range = stack.lowest..<stack.lowest + UInt(stack.size)
          #expect(range.contains(sample.stackPointer))
        case .failure(let failure):
          #expect(!isPatient && failure == .noAnswer, "\(failure)")
        }
      }
    }
    gate.open()
    stop.set()
    for other in others { try other.join() }
  }

  @Test("several threads may make dumps at once, while threads begin and end", threadsAnswer)
  func concurrent() throws {
    let isOver = Shared.Flag()
    let running = Atomic<Int>(2)
    try concurrently(4) { index in
      if index < 2 {
        for _ in 0..<15 {
          guard let dump = try? ThreadDump.capture() else {
            Issue.record("refused")
            continue
          }
          #expect(dump.threads.contains { $0.thread.id == SystemThread.currentID })
        }
        if running.wrappingSubtract(1, ordering: .relaxed).newValue == 0 { isOver.set() }
      } else {
        while !isOver.isSet {
          let thread = try? PosixThread.start { SystemThreadReport.unblockAllSignals() }
          _ = try? thread?.join()
        }
      }
    }
  }

  @Test("a dump is refused when every real-time signal is in use")
  func noSignal() async {
    await #expect(processExitsWith: .success) {
      synchronously {
        for number in 34...64 { _ = signal(CInt(number), SIG_IGN) }
        do throws(ThreadingError) {
          _ = try ThreadDump.capture()
          fatalError("captured")
        } catch {
          precondition(error.codeName == "EAGAIN" && error.call == "ThreadDump.capture")
        }
      }
    }
  }
}
