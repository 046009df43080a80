import Synchronization
import TestSupport
import Testing
import Threading
import ThreadingPlatform

@Suite("ThreadAttributes", .endsInTime)
struct ThreadAttributesTests {
  @Test(
    "a stack size out of range is refused with the value and the limit, by validate and by start",
    arguments: [1_000, 0, -1, Int.min, Int.max])
  func badStackSize(size: Int) throws {
    let attributes = ThreadAttributes(stackSize: size)
    let early = try #require(throws: ThreadingError.self) { try attributes.validate() }
    let limit =
      size > 0 && size > ThreadAttributes.minimumStackSize
      ? ThreadAttributes.maximumStackSize : ThreadAttributes.minimumStackSize
    #expect(early.codeName == "EINVAL")
    #expect(early.call == "ThreadAttributes.stackSize")
    #expect(early.message.contains("\(size) bytes"))
    #expect(early.message.contains("\(limit) bytes"))

    let ran = Shared.Flag()
    let thread = PosixThread(attributes) { ran.set() }
    #expect(throws: early) { try thread.start() }
    #expect(thread.state == .notStarted)
    #expect(!ran.isSet)
  }

  @Test(
    "the stack has the size asked for in whole pages, or is a larger one of an ended thread",
    .enabled(if: !ThreadSanitizer.isActive),
    arguments: [
      40_960, 65_536, 65_537, 1 << 20, 2 << 30,
    ])
  func stackSize(asked: Int) throws {
    let attributes = ThreadAttributes(stackSize: asked)
    try attributes.validate()
    let thread = try PosixThread.start(attributes) { try? ThreadHandle.current.stackUsage() }
    let usage = try #require(try thread.join())
    #expect(usage.size >= asked && usage.size <= 4 * (asked + 16_384))
  }

  @Test("the smallest stack that can be asked for runs a body that meets a type for the first time")
  func smallest() throws {
    let size = ThreadAttributes.minimumStackSize
    let thread = try PosixThread.start(ThreadAttributes(stackSize: size)) {
      [1: FirstMet(value: [Optional("one")])].values.first?.value.count ?? 0
    }
    #expect(try thread.join() == 1)
    let below = try #require(throws: ThreadingError.self) {
      try PosixThread.start(ThreadAttributes(stackSize: size - 1)) {}
    }
    #expect(below.message.contains("\(size) bytes"))
  }

  @Test("a stack that the system has no room for is an error that names the call")
  func noRoom() throws {
    let size = 1 << 46
    let thread = PosixThread(ThreadAttributes(stackSize: size)) {}
    let error = try #require(throws: ThreadingError.self) { try thread.start() }
    #expect(error.call == "pthread_create")
    #expect(error.codeName == "EAGAIN")
    #expect(error.message.contains("\(size) bytes"))
    #expect(thread.state == .notStarted)
  }

  @Test(
    "the guard is as large as asked for, in whole pages", arguments: [(0, 0), (1, 1), (8192, 2)])
  func guardSize(asked: Int, pages: Int) throws {
    var attributes = ThreadAttributes(stackSize: 256 * 1024)
    attributes.guardSize = asked
    let thread = try PosixThread.start(attributes) { try? ThreadHandle.current.stackUsage() }
    let usage = try #require(try thread.join())
    #expect(usage.guardSize == pages * SystemThread.pageSize)
  }

  @Test("a guard out of range is refused")
  func badGuard() throws {
    var attributes = ThreadAttributes(stackSize: 64 * 1024)
    attributes.guardSize = -1
    let negative = try #require(throws: ThreadingError.self) { try attributes.validate() }
    #expect(negative.call == "ThreadAttributes.guardSize")
  }

  @Test("blocked signals and detachment are read back as the system has them")
  func readBack() throws {
    var attributes = ThreadAttributes()
    attributes.blockedSignals = [10, 12]
    for isDetached in [false, true] {
      attributes.isDetached = isDetached
      let gate = Shared.Gate()
      let seen = Locked<Bool?>(nil)
      let thread = try PosixThread.start(attributes) {
        let found = try? SystemThread.current.isDetached()
        seen.withLock { $0 = found }
        gate.wait()
      }
      #expect(eventually { seen.withLock { $0 } != nil })
      #expect(seen.withLock { $0 } == isDetached)
      #expect(thread.isDetached == isDetached)
      let signals = try thread.handle.blockedSignals()
      let text = try #require(SystemThreadReport.status("SigBlk", of: thread.handle))
      let mask = try #require(UInt64(text, radix: 16))
      #expect(signals.isSuperset(of: [10, 12]))
      for signal in 1...64 as ClosedRange<Int32> {
        #expect(signals.contains(signal) == (mask >> UInt64(signal - 1) & 1 == 1))
      }
      gate.open()
      #expect(eventually { thread.state == .finished })
    }
    let later = try PosixThread.start {}
    #expect(!later.isDetached)
    try later.detach()
    #expect(later.isDetached)
    #expect(throws: ThreadingError.self) { try PosixThread {}.handle.blockedSignals() }
  }

  @Test("signals are blocked for the new thread alone, from its first moment")
  func signals() throws {
    var attributes = ThreadAttributes()
    attributes.blockedSignals = [10, 12]
    let blocking = attributes
    // Its own thread with nothing blocked: the one that runs the test may have signals blocked.
    let starter = try PosixThread.start { () -> [[Bool]] in
      SystemThreadReport.unblockAllSignals()
      let thread = try? PosixThread.start(blocking) {
        [10, 12, 15].map { SystemThread.isBlocked($0) }
      }
      return [(try? thread?.join()) ?? [], [10, 12, 15].map { SystemThread.isBlocked($0) }]
    }
    #expect(try starter.join() == [[true, true, false], [false, false, false]])
    for signal in [0, 9, 19, 32, 65, -1] as [Int32] {
      attributes.blockedSignals = [signal]
      let error = try #require(throws: ThreadingError.self) { try attributes.validate() }
      #expect(error.message.contains("signal \(signal)"))
      #expect(throws: error) { try PosixThread.start(attributes) {} }
    }
  }

  @Test("an object's method is called in the background, and the object is let go of")
  func background() throws {
    final class Model: Sendable {
      let flag: Shared.Flag
      init(_ flag: Shared.Flag) { self.flag = flag }
      func reload() { if !ThreadHandle.current.isMain { flag.set() } }
    }
    let flag = Shared.Flag()
    weak var model: Model?
    let handle: ThreadHandle
    do {
      let object = Model(flag)
      model = object
      handle = try performInBackground(object, Model.reload)
    }
    #expect(eventually { handle.state == .finished })
    #expect(flag.isSet)
    #expect(model == nil)
  }

  @Test("a refused start leaves nothing behind")
  func nothingLeaks() throws {
    let before = Shared.Counted.alive.load(ordering: .relaxed)
    for size in [1, 1 << 46] {
      let counted = Shared.Counted()
      #expect(throws: ThreadingError.self) {
        try PosixThread.start(ThreadAttributes(stackSize: size)) { _ = counted }
      }
    }
    #expect(Shared.Counted.alive.load(ordering: .relaxed) == before)
  }

  @Test(
    "with the address space used up a start is refused, and works once there is room",
    .enabled(if: !ThreadSanitizer.isActive))
  func addressSpaceCapped() async {
    await #expect(processExitsWith: .success) {
      synchronously {
        // The cap leaves the process what it has, and room for far less than the stack asked for.
        let cap = MemoryCap.lowered(leaving: 64 << 20)
        let thread = PosixThread(ThreadAttributes(name: "big", stackSize: 512 << 20)) { 8 }
        do throws(ThreadingError) {
          try thread.start()
          fatalError("started")
        } catch {
          precondition(error.call == "pthread_create" && error.codeName == "EAGAIN", "\(error)")
          precondition(error.message.contains("\(512 << 20) bytes"), "\(error)")
        }
        precondition(thread.state == .notStarted)
        cap.restore()
        try thread.start()
        let value = try thread.join()
        precondition(value == 8)
      }
    }
  }

  @Test("the largest stack that can be asked for is asked for, and refused by the system")
  func largest() throws {
    let attributes = ThreadAttributes(stackSize: ThreadAttributes.maximumStackSize)
    try attributes.validate()
    #expect(throws: ThreadingError.self) { try PosixThread.start(attributes) {} }
  }
}

/// A type that only one test uses.
private struct FirstMet<Value: Hashable>: Hashable {
  var value: Value
}
