import Glibc
import Synchronization
import TestSupport
import Testing
import Threading
import ThreadingPlatform

@Suite("ThreadSnapshot", .endsInTime)
struct ThreadSnapshotTests {
  @Test("all threads of the process are listed, ours and others, as the system has them")
  func all() throws {
    let gate = Shared.Gate()
    var attributes = ThreadAttributes(name: "a listed thread of ours", stackSize: 256 << 10)
    attributes.scheduling = .other(nice: 3)
    let thread = try PosixThread.start(attributes) { gate.wait() }
    let foreignID = Atomic<UInt32>(0)
    let joinForeign = try inBackground {
      foreignID.store(SystemThread.currentID, ordering: .releasing)
      gate.wait()
    }
    #expect(eventually { SystemThreadReport.isAsleep(thread.handle) })
    #expect(eventually { foreignID.load(ordering: .acquiring) != 0 })
    let all = try ThreadSnapshot.all()
    gate.open()
    joinForeign()

    #expect(Set(all.map { $0.id }).count == all.count)
    let ours = try #require(all.first { $0.id == thread.handle.kernelID })
    #expect(ours.handle === thread.handle)
    #expect(ours.origin == .posix)
    #expect(ours.name == "a listed thread of ours")
    #expect(ours.listedName == "a listed thread")
    #expect(ours.activity == .sleeping)
    #expect(ours.scheduling == .other(nice: 3))
    #expect(ours.processorTime > .zero && ours.processorTime < .seconds(60))
    let stack = try #require(ours.stack)
    #expect(stack.size >= 256 << 10 && stack.current == nil && stack.highWaterMark > 0)
    #expect(ours.description.contains("a listed thread of ours"))

    let foreign = try #require(
      all.first { $0.id == foreignID.load(ordering: .relaxed) })
    #expect(foreign.origin == .other && foreign.handle == nil && foreign.stack == nil)

    let main = try #require(all.first { $0.origin == .main })
    #expect(main.id == UInt32(getpid()) && main.handle === ThreadHandle.main)

    let me = try #require(all.first { $0.id == SystemThread.currentID })
    #expect(me.handle === ThreadHandle.current)
    #expect(me.stack?.current != nil)
    #expect(ThreadSnapshot.current?.id == me.id)
    try thread.join()
    #expect(ThreadSnapshot(id: UInt32(Int32.max)) == nil)
  }

  @Test("the processor time is what the thread has used, and grows by what it uses")
  func processorTime() throws {
    let thread = try PosixThread.start { () -> (Duration, Duration, Duration) in
      let id = ThreadHandle.current.kernelID
      let before = ThreadSnapshot(id: id)?.processorTime ?? .zero
      let clock = timespec.ofThread()
      while timespec.ofThread() - clock < .milliseconds(20) {}
      let after = ThreadSnapshot(id: id)?.processorTime ?? .zero
      return (before, after, timespec.ofThread())
    }
    let (before, after, clock) = try thread.join()
    #expect(after - before >= .milliseconds(20))
    #expect(after <= clock)
  }

  @Test("a foreign thread that asks for its handle is listed with it until it ends")
  func adopted() throws {
    let gate = Shared.Gate()
    let adopted = Locked<ThreadHandle?>(nil)
    let join = try inBackground {
      ThreadHandle.current.name = "adopted"
      adopted.withLock { $0 = .current }
      gate.wait()
    }
    #expect(eventually { adopted.withLock { $0 } != nil })
    let handle = try #require(adopted.withLock { $0 })
    let listed = try #require(try ThreadSnapshot.all().first { $0.handle === handle })
    #expect(listed.origin == .other && listed.name == "adopted" && listed.stack != nil)
    gate.open()
    join()
    #expect(try !ThreadSnapshot.all().contains { $0.handle === handle })
  }

  @Test("without a descriptor, a list and a dump are errors, and no thread is taken for ended")
  func withoutDescriptor() async {
    await #expect(processExitsWith: .success) {
      synchronously {
        let gate = Shared.Gate()
        let thread = try PosixThread.start(ThreadAttributes(name: "lives")) { gate.wait() }
        _ = try ThreadDump.capture()
        func code(_ body: () throws -> Void) -> String {
          withoutDescriptors {
            do {
              try body()
              return "none"
            } catch {
              return (error as? ThreadingError)?.codeName ?? "\(error)"
            }
          }
        }
        precondition(code { _ = try ThreadSnapshot.all() } == "EMFILE")
        precondition(code { _ = try ThreadDump.capture() } == "EMFILE")
        precondition(code { _ = try thread.handle.blockedSignals() } == "EMFILE")
        precondition(code { _ = try thread.handle.stackUsage() } == "none")
        let described = withoutDescriptors { SystemThread.describe(thread.handle.kernelID) }
        precondition(described == "thread \(thread.handle.kernelID)", described)
        let all = try ThreadSnapshot.all()
        precondition(all.contains { $0.name == "lives" })
        gate.open()
        try thread.join()
      }
    }
  }

  @Test("threads may begin and end while others list them", arguments: [1, 2])
  func churn(seed: UInt64) throws {
    let isOver = Shared.Flag()
    try concurrently(4) { index in
      if index == 0 {
        for _ in 0..<60 {
          for thread in (try? ThreadSnapshot.all()) ?? [] where thread.origin == .posix {
            #expect(thread.handle != nil && thread.id != 0)
          }
        }
        isOver.set()
      } else {
        var random = SeededGenerator(seed: seed &* 31 &+ UInt64(index))
        while !isOver.isSet {
          let thread = try? PosixThread.start(ThreadAttributes(name: "brief")) {}
          if Bool.random(using: &random) { _ = try? thread?.join() }
        }
      }
    }
  }
}

extension timespec {
  /// The processor time of the calling thread.
  fileprivate static func ofThread() -> Duration {
    var time = timespec()
    _ = unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }
}
