import Glibc
import Synchronization
import TestSupport
import Testing
import Threading
import ThreadingPlatform

/// Where a mapping of the process's memory lies, as `/proc/self/maps` has it.
private func mapping(around address: UInt) -> (range: Range<UInt>, below: (Range<UInt>, String)?)? {
  var below: (Range<UInt>, String)?
  for line in (SystemThreadReport.text(of: "/proc/self/maps")).split(separator: "\n") {
    let words = line.split(separator: " ")
    let ends = words[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
    let range = ends[0]..<ends[1]
    if range.contains(address) { return (range, below) }
    below = (range, String(words[1]))
  }
  return nil
}

private func ownUsage() -> StackUsage? { try? ThreadHandle.current.stackUsage() }

/// Memory for a stack, and a look at how often it was given back.
@safe private final class Room: @unchecked Sendable {
  // SAFETY of @unchecked: `memory` does not change, and only stacks use what it points to.
  let memory: UnsafeMutableRawBufferPointer
  let released = Atomic<Int>(0)

  init(_ size: Int) {
    unsafe memory = .allocate(byteCount: size, alignment: 4096)
    unsafe memory.initializeMemory(as: UInt8.self, repeating: 0xEE)
  }

  deinit { unsafe memory.deallocate() }

  func stack() throws -> ThreadStack {
    try unsafe ThreadStack(memory) { [self] _ in released.wrappingAdd(1, ordering: .relaxed) }
  }

  func contains(_ address: UInt) -> Bool {
    let start = unsafe UInt(bitPattern: memory.baseAddress)
    return unsafe (start..<start + UInt(memory.count)).contains(address)
  }
}

@Suite("Stacks", .endsInTime)
struct StackTests {
  @Test(
    "a thread can use all of the stack that it asked for, and the system's map agrees",
    .enabled(if: !ThreadSanitizer.isActive), arguments: [40_960, 65_537, 1 << 20])
  func wholeStack(size: Int) async {
    // In a process of its own, where no larger stack of an ended thread waits to be used again.
    await #expect(processExitsWith: .success) { [size = size as Int] in
      synchronously {
        let thread = try PosixThread.start(ThreadAttributes(stackSize: size)) {
          () -> (StackUsage?, Bool) in
          // The last step of the descent overshoots, and calls something itself.
          useStack(to: size - 3_072)
          guard let stack = try? SystemThread.currentStack(),
            let map = mapping(around: SystemThread.frameAddress), let guarded = map.below
          else { return (nil, false) }
          let agrees =
            map.range.lowerBound == stack.lowest && guarded.0.upperBound == stack.lowest
            && guarded.0.count >= stack.guardSize && guarded.1.hasPrefix("---")
          return (ownUsage(), agrees)
        }
        let (usage, agrees) = try thread.join()
        guard let usage else { fatalError("no usage") }
        precondition(agrees, "the system's map is another one")
        // The size asked for, and what rounding to pages adds.
        precondition((size..<size + 8_192).contains(usage.size), "\(usage)")
        precondition(usage.highWaterMark >= size - 3_072, "\(usage)")
        precondition(usage.guardSize == SystemThread.pageSize, "\(usage)")
      }
    }
  }

  @Test("the mark is what the thread used at its worst, seen from inside and from outside")
  func highWaterMark() throws {
    let used = Shared.Flag()
    let gate = Shared.Gate()
    var attributes = ThreadAttributes(stackSize: 512 << 10)
    attributes.isStackMeasured = true
    let inside = Locked<[StackUsage]>([])
    let thread = try PosixThread.start(attributes) {
      SystemThreadReport.unblockAllSignals()
      if let before = ownUsage() { inside.withLock { $0.append(before) } }
      useStack(to: 200 << 10)
      if let after = ownUsage() { inside.withLock { $0.append(after) } }
      used.set()
      gate.wait()
    }
    used.wait()
    #expect(eventually { SystemThreadReport.isAsleep(thread.handle) })
    let outside = try thread.handle.stackUsage()
    gate.open()
    try thread.join()
    let (before, after) = try inside.withLock { (try #require($0.first), try #require($0.last)) }
    #expect(before.highWaterMark < 64 << 10)
    for usage in [after, outside] {
      #expect(usage.highWaterMark >= 200 << 10)
      #expect(usage.highWaterMark < 264 << 10)
      #expect(usage.leastAvailable == usage.size - usage.highWaterMark)
    }
    #expect(try #require(after.current) < 64 << 10)
    if !ThreadSanitizer.isActive { #expect(try #require(outside.current) < 64 << 10) }
    #expect(throws: ThreadingError.self) { try thread.handle.stackUsage() }
  }

  @Test(
    "a thread that is deep in calls is seen to be, running or asleep",
    .enabled(if: !ThreadSanitizer.isActive), arguments: [false, true])
  func current(isAsleep: Bool) throws {
    let deep = Shared.Flag()
    let gate = Shared.Gate()
    let stop = Shared.Flag()
    let thread = try PosixThread.start(ThreadAttributes(stackSize: 512 << 10)) {
      SystemThreadReport.unblockAllSignals()
      useStack(to: 100 << 10) {
        deep.set()
        if isAsleep { gate.wait() } else { while !stop.isSet {} }
      }
    }
    deep.wait()
    if isAsleep { #expect(eventually { SystemThreadReport.isAsleep(thread.handle) }) }
    let usage = try thread.handle.stackUsage()
    let current = try #require(usage.current)
    #expect(current >= 100 << 10 && current < 164 << 10)
    #expect(usage.available == usage.size - current)
    gate.open()
    stop.set()
    try thread.join()
  }

  @Test(
    "a measured stack does not show what an ended thread has left",
    .enabled(if: !ThreadSanitizer.isActive))
  func measured() async {
    await #expect(processExitsWith: .success) {
      synchronously {
        var attributes = ThreadAttributes(stackSize: 256 << 10)
        // Written by hand to the end of the 16 KiB that the C library leaves as they are.
        try PosixThread.start(attributes) { useStack(to: 14 << 10) }.join()
        let used = try PosixThread.start(attributes) { ownUsage() }.join()
        attributes.isStackMeasured = true
        let measured = try PosixThread.start(attributes) { ownUsage() }.join()
        guard let used, let measured else { fatalError("no usage") }
        precondition(used.highWaterMark >= 14 << 10, "\(used)")
        precondition(measured.highWaterMark < used.highWaterMark, "\(measured)")
      }
    }
  }

  @Test("the main thread's stack is measured from outside")
  func mainThread() throws {
    let usage = try ThreadHandle.main.stackUsage()
    #expect(usage.size >= 1 << 20)
    #expect(usage.highWaterMark > 0 && usage.highWaterMark < usage.size)
  }

  @Test("a thread that is not there has no stack")
  func noThread() throws {
    let thread = PosixThread {}
    #expect(throws: ThreadingError.self) { try thread.handle.stackUsage() }
  }

  @Test(
    "a program with 256 KiB of thread-local data starts threads with the smallest stack",
    .enabled(if: !ThreadSanitizer.isActive))
  func threadLocalData() throws {
    let answer = ProbeProgram.run("threads-probe", ["stack"])
    #expect(answer.status == 0)
    #expect(answer.output.hasPrefix("used "))
    #expect(ProbeProgram.run("threads-probe", ["stack", "40960"]).status == 0)
  }
}

@Suite("Stacks of the caller's", .endsInTime)
struct ThreadStackTests {
  @Test("a thread runs on the memory that it is given, which serves again after the join")
  func given() throws {
    let room = Room(256 << 10)
    do {
      let stack = try room.stack()
      var attributes = ThreadAttributes()
      attributes.stack = stack
      for isMeasured in [false, true] {
        attributes.isStackMeasured = isMeasured
        let gate = Shared.Flag()
        let thread = try PosixThread.start(attributes) { () -> (Bool, StackUsage?) in
          gate.wait()
          return (room.contains(SystemThread.frameAddress), ownUsage())
        }
        #expect(stack.isInUse)
        let busy = try #require(throws: ThreadingError.self) {
          try PosixThread.start(attributes) {}
        }
        #expect(busy.codeName == "EBUSY")
        let refused = try #require(throws: ThreadingError.self) { try thread.detach() }
        #expect(refused.codeName == "EINVAL")
        gate.set()
        // Each joiner gets the answer; one gives the stack back.
        try concurrently(4) { _ in _ = try? thread.join() }
        let (isInside, usage) = try thread.join()
        #expect(!stack.isInUse)
        #expect(isInside)
        let found = try #require(usage)
        #expect(found.size > 200 << 10 && found.size <= 256 << 10)
        #expect(found.guardSize == 0)
        // The memory was full of marks; those below the frames are gone once it is measured.
        if isMeasured { #expect(found.highWaterMark < 128 << 10) }
        if !isMeasured { #expect(found.highWaterMark >= found.size - 16) }
        _ = try thread.join(for: .zero)
      }
      #expect(room.released.load(ordering: .relaxed) == 0)
    }
    #expect(room.released.load(ordering: .relaxed) == 1)
  }

  @Test("a refused start gives the stack back")
  func refusedStart() throws {
    let room = Room(256 << 10)
    var attributes = ThreadAttributes()
    attributes.stack = try room.stack()
    attributes.scheduling = .other(nice: 0)
    attributes.cpus = CPUSet([60_000])
    #expect(throws: ThreadingError.self) { try PosixThread.start(attributes) {} }
    #expect(attributes.stack?.isInUse == false)
    // Refused by the new thread itself, which runs on the stack by then: the kernel gives no deadlines to
    // threads that are bound to one of several processors, nor to those without the right.
    attributes.cpus = try CPUSet.allowed().numbers.first.map { CPUSet([$0]) }
    attributes.scheduling = .deadline(
      runtime: .microseconds(100), deadline: .milliseconds(10), period: .milliseconds(20))
    if let thread = try? PosixThread.start(attributes, body: {}) { try thread.join() }
    #expect(attributes.stack?.isInUse == false)
    attributes.cpus = nil
    attributes.scheduling = nil
    try PosixThread.start(attributes) {}.join()
    #expect(attributes.stack?.isInUse == false)
  }

  @Test("a stack whose thread was dropped unjoined stays in use, and its memory is kept")
  func dropped() throws {
    let room = Room(256 << 10)
    let handle: ThreadHandle
    do {
      var attributes = ThreadAttributes()
      attributes.stack = try room.stack()
      handle = try PosixThread.start(attributes) {}.handle
    }
    #expect(eventually { handle.state == .finished })
    #expect(room.released.load(ordering: .relaxed) == 0)
    // The thread may still be on its way out: the test's memory must outlive it.
    _ = unsafe Unmanaged.passRetained(room)
  }

  @Test("memory that cannot be a stack is refused with the reason")
  func badMemory() throws {
    let room = Room(256 << 10)
    let start = try unsafe #require(room.memory.baseAddress)
    let size = unsafe room.memory.count
    let least = ThreadAttributes.minimumStackSize
    func refusal(_ start: UnsafeMutableRawPointer?, _ size: Int) -> ThreadingError? {
      do throws(ThreadingError) {
        _ = unsafe try ThreadStack(UnsafeMutableRawBufferPointer(start: start, count: size))
        return nil
      } catch {
        return error
      }
    }
    for (error, part) in unsafe [
      (refusal(start + 8, size - 16), "aligned to 16"), (refusal(start, size - 8), "aligned to 16"),
      (refusal(start, least), "below the minimum"), (refusal(nil, 0), "below the minimum"),
      (
        refusal(UnsafeMutableRawPointer(bitPattern: UInt.max - 0xFFFF), 256 << 10),
        "beyond the address space"
      ),
    ] {
      #expect(error?.codeName == "EINVAL")
      #expect(error?.message.contains(part) == true, "\(String(describing: error))")
    }
    let accepted = unsafe refusal(start, size)
    #expect(accepted == nil)
  }

  @Test("what does not go with a stack of the caller's is refused")
  func combinations() throws {
    let room = Room(256 << 10)
    var plain = ThreadAttributes()
    plain.stack = try room.stack()
    var sized = plain
    sized.stackSize = 65_536
    var guarded = plain
    guarded.guardSize = 0
    var detached = plain
    detached.isDetached = true
    for attributes in [sized, guarded, detached] {
      let error = try #require(throws: ThreadingError.self) { try attributes.validate() }
      #expect(error.call == "ThreadAttributes.stack" && error.codeName == "EINVAL")
      #expect(throws: error) { try PosixThread.start(attributes) {} }
    }
    #expect(plain.stack?.isInUse == false)
    try plain.validate()
  }
}

@Suite("Default stack size", .endsInTime)
struct DefaultStackSizeTests {
  @Test(
    "the default for the process serves threads that do not say, and is read back",
    .enabled(if: !ThreadSanitizer.isActive))
  func chosen() async {
    await #expect(processExitsWith: .success) {
      synchronously {
        let former = ThreadAttributes.defaultStackSize
        precondition(former >= 1 << 16)
        try ThreadAttributes.setDefaultStackSize(300_000)
        precondition(ThreadAttributes.defaultStackSize == 300_000)
        let size = try PosixThread.start { ownUsage()?.size ?? 0 }.join()
        precondition((300_000..<316_384).contains(size), "\(size)")
        let own = try PosixThread.start(ThreadAttributes(stackSize: 2 << 20)) {
          ownUsage()?.size ?? 0
        }
        let ownSize = try own.join()
        precondition(ownSize >= 2 << 20, "\(ownSize)")
        for bad in [0, -1, ThreadAttributes.minimumStackSize - 1, Int.max] {
          do throws(ThreadingError) {
            try ThreadAttributes.setDefaultStackSize(bad)
            fatalError("\(bad) was taken")
          } catch {
            precondition(error.call == "ThreadAttributes.defaultStackSize", "\(error)")
            precondition(error.message.contains("\(bad) bytes"), "\(error)")
          }
        }
        precondition(ThreadAttributes.defaultStackSize == 300_000)
        try ThreadAttributes.setDefaultStackSize(nil)
        precondition(ThreadAttributes.defaultStackSize == former)
      }
    }
  }
}
