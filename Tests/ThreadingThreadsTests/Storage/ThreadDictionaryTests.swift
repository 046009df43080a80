import Synchronization
import TestSupport
import Testing
import Threading
import ThreadingThreads

private enum Number: ThreadDictionaryKey { typealias Value = Int }
private enum Word: ThreadDictionaryKey { typealias Value = String }
private enum Object: ThreadDictionaryKey { typealias Value = Probe }
private enum Plain: ThreadDictionaryKey { typealias Value = NotSendable }

private final class NotSendable {
  var count = 0
}

/// Tells when it is released, and by whom.
private final class Probe: Sendable {
  private let onRelease: @Sendable () -> Void
  init(onRelease: @escaping @Sendable () -> Void) { self.onRelease = onRelease }
  deinit { onRelease() }
}

/// Counts releases, and those on a given thread.
private final class Tally: Sendable {
  let released = Atomic<Int>(0)
  let onOwner = Atomic<Int>(0)

  func probe(of owner: UInt32) -> Probe {
    Probe { [self] in
      released.wrappingAdd(1, ordering: .relaxed)
      if ThreadHandle.current.kernelID == owner { onOwner.wrappingAdd(1, ordering: .relaxed) }
    }
  }
}

@Suite("ThreadDictionary", .endsInTime)
struct ThreadDictionaryTests {
  @Test("typed and string keys hold a value each, per thread")
  func perThread() throws {
    let values = Locked<[[Int]]>([])
    try concurrently(8) { index in
      let mine = ThreadDictionary.current
      #expect(mine[Number.self] == nil)
      mine[Number.self] = index
      mine[Word.self] = "word \(index)"
      mine["Number"] = -index
      values.withLock {
        $0.append([
          ThreadDictionary.current[Number.self] ?? -1, mine["Number"] as? Int ?? 1,
          mine[Word.self] == "word \(index)" ? 1 : 0,
        ])
      }
    }
    let sorted = values.withLock { $0 }.sorted { $0[0] < $1[0] }
    #expect(sorted == (0..<8).map { [$0, -$0, 1] })
  }

  @Test("a value is set, replaced, removed and set again, and each is released once")
  func balance() throws {
    let tally = Tally()
    try concurrently(1) { _ in
      let me = ThreadHandle.current.kernelID
      let mine = ThreadDictionary.current
      mine[Object.self] = tally.probe(of: me)
      mine[Object.self] = tally.probe(of: me)
      #expect(tally.released.load(ordering: .relaxed) == 1)
      mine[Object.self] = nil
      #expect(tally.released.load(ordering: .relaxed) == 2)
      mine[Object.self] = tally.probe(of: me)
      mine["key"] = tally.probe(of: me)
      mine["key"] = tally.probe(of: me)
      #expect(tally.released.load(ordering: .relaxed) == 3)
      mine.removeAll()
      #expect(tally.released.load(ordering: .relaxed) == 5)
      #expect(mine[Object.self] == nil)
      #expect(mine["key"] == nil)
      mine[Object.self] = tally.probe(of: me)
    }
    #expect(tally.released.load(ordering: .relaxed) == 6)
    #expect(tally.onOwner.load(ordering: .relaxed) == 6)
  }

  @Test("values are released on the thread before join returns")
  func releasedBeforeJoin() throws {
    for _ in 0..<50 {
      let tally = Tally()
      let thread = try PosixThread.start {
        let me = ThreadHandle.current.kernelID
        ThreadDictionary.current[Object.self] = tally.probe(of: me)
        ThreadDictionary.current["key"] = tally.probe(of: me)
      }
      try thread.join()
      #expect(tally.onOwner.load(ordering: .relaxed) == 2)
    }
  }

  @Test("a thousand foreign threads release what they stored, each once")
  func foreignThreads() throws {
    let tally = Tally()
    for _ in 0..<10 {
      try concurrently(100) { _ in
        let me = ThreadHandle.current.kernelID
        ThreadDictionary.current[Object.self] = tally.probe(of: me)
      }
    }
    #expect(tally.released.load(ordering: .relaxed) == 1000)
    #expect(tally.onOwner.load(ordering: .relaxed) == 1000)
  }

  @Test("another thread reads, stores and removes values through the handle")
  func fromOutside() throws {
    let gate = Shared.Flag()
    let stored = Shared.Flag()
    let thread = PosixThread { () -> [String] in
      let mine = ThreadDictionary.current
      let early = mine[Word.self] ?? "none"
      mine[Number.self] = 4
      mine["progress"] = 0.5
      stored.set()
      gate.wait()
      return [early, mine[Word.self] ?? "none", "\(mine[Number.self] as Int?, default: "none")"]
    }
    thread.handle.dictionary[Word.self] = "before the start"
    try thread.start()
    stored.wait()
    #expect(thread.handle.dictionary[Number.self] == 4)
    #expect(thread.handle.dictionary["progress"] as? Double == 0.5)
    thread.handle.dictionary[Number.self] = nil
    thread.handle.dictionary[Word.self] = "from outside"
    gate.set()
    #expect(try thread.join() == ["before the start", "from outside", "none"])
  }

  @Test("what others store again and again is kept once, also if the thread never looks")
  func storedUnseen() throws {
    let gate = Shared.Flag()
    let thread = try PosixThread.start { gate.wait() }
    let tally = Tally()
    for _ in 0..<1_000 {
      thread.handle.dictionary[Object.self] = tally.probe(of: 0)
      thread.handle.dictionary["key"] = tally.probe(of: 0)
    }
    #expect(tally.released.load(ordering: .relaxed) == 1_998)
    thread.handle.dictionary["key"] = nil
    #expect(thread.handle.dictionary["key"] == nil)
    #expect(tally.released.load(ordering: .relaxed) == 1_999)
    gate.set()
    try thread.join()
    #expect(tally.released.load(ordering: .relaxed) == 2_000)
  }

  @Test("the dictionary of an ended thread is empty, and lets go of what it is given")
  func afterEnd() throws {
    let thread = try PosixThread.start { ThreadDictionary.current[Number.self] = 1 }
    try thread.join()
    #expect(thread.handle.dictionary[Number.self] == nil)
    let tally = Tally()
    thread.handle.dictionary[Object.self] = tally.probe(of: 0)
    thread.handle.dictionary["key"] = tally.probe(of: 0)
    #expect(tally.released.load(ordering: .relaxed) == 2)
    #expect(thread.handle.dictionary[Object.self] == nil)
  }

  @Test("many threads reach into one dictionary at once", arguments: [3 as UInt64])
  func stress(seed: UInt64) throws {
    let gate = Shared.Flag()
    let thread = try PosixThread.start { () -> Int in
      var sum = 0
      while !gate.isSet {
        ThreadDictionary.current[Number.self] = 1
        sum += ThreadDictionary.current["total"] as? Int ?? 0
        ThreadDictionary.current[Object.self] = Probe {}
      }
      return sum
    }
    let dictionary = thread.handle.dictionary
    try concurrently(4) { index in
      var random = SeededGenerator(seed: seed &+ UInt64(index))
      for _ in 0..<2_000 {
        switch Int.random(in: 0..<4, using: &random) {
        case 0: dictionary[Number.self] = 5
        case 1: dictionary[Object.self] = Probe {}
        case 2: dictionary["total"] = 1
        default: _ = dictionary[Object.self]
        }
      }
    }
    gate.set()
    #expect(try thread.join() >= 0)
    #expect(dictionary[Number.self] == nil)
  }

  @Test("a value that is not Sendable is kept by its own thread")
  func local() throws {
    let thread = try PosixThread.start { () -> Int in
      let object = NotSendable()
      ThreadDictionary.current[local: Plain.self] = object
      ThreadDictionary.current[local: Plain.self]?.count += 1
      ThreadDictionary.current[local: Number.self] = object.count
      return ThreadDictionary.current[Number.self] ?? -1
    }
    #expect(try thread.join() == 1)
  }

  @Test("asking for a local value of another thread stops the program")
  func localFromOutside() async {
    await #expect(processExitsWith: .failure) {
      let thread = PosixThread {}
      _ = thread.handle.dictionary[local: Plain.self]
    }
  }

  @Test("what others store is seen by others before the thread looks, and does not come back later")
  func storedOnce() throws {
    enum Typed: ThreadDictionaryKey { typealias Value = Int }
    let turns = (0..<2).map { _ in Shared.Gate() }
    let hasReplaced = CountdownLatch(1)
    let thread = try PosixThread.start { () -> [Int?] in
      turns[0].wait()
      let first = ThreadDictionary.current[Typed.self]
      ThreadDictionary.current[Typed.self] = 2
      hasReplaced.countDown()
      turns[1].wait()
      return [first, ThreadDictionary.current[Typed.self]]
    }
    let dictionary = thread.handle.dictionary
    dictionary[Typed.self] = 1
    #expect(dictionary[Typed.self] == 1)
    turns[0].open()
    hasReplaced.wait()
    dictionary["another"] = 3
    turns[1].open()
    #expect(try thread.join() == [1, 2])
  }

  @Test("what a deinit stores while the thread ends is released too")
  func storedByDeinit() throws {
    let tally = Tally()
    let thread = try PosixThread.start {
      let me = ThreadHandle.current.kernelID
      ThreadDictionary.current[Object.self] = Probe {
        ThreadDictionary.current[Object.self] = tally.probe(of: me)
      }
    }
    try thread.join()
    #expect(tally.onOwner.load(ordering: .relaxed) == 1)
    #expect(thread.handle.dictionary[Object.self] == nil)
  }

  @Test("values that store themselves anew for ever are stopped, with one line of complaint")
  func endlessDeinit() async {
    let result = await #expect(
      processExitsWith: .success, observing: [\.standardErrorContent]
    ) {
      synchronously {
        let thread = try PosixThread.start(ThreadAttributes(name: "endless")) { storeAgain() }
        try thread.join()
        precondition(thread.handle.dictionary[Object.self] == nil)
      }
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    let lines = text.split(separator: "\n").filter { $0.contains("storage was filled anew") }
    #expect(lines.count == 1)
    #expect(lines.first?.contains("\"endless\"") == true)
  }

  @Test(
    "the main thread's values stay to the end of the process, by return and by exit alike",
    arguments: ["values-return", "values-exit"])
  func mainThread(ending: String) {
    let answer = ProbeProgram.run("threads-probe", [ending])
    #expect(answer.status == 0)
    // Another thread's are released all the same, and so is what main gave up before.
    #expect(answer.output == "released: given up\nreleased: of a thread\nmain leaves\n")
  }

  @Test(
    "while a thread's values are released, what others store is refused, however often they try")
  func outsidersAtTheEnd() throws {
    let tally = Tally()
    let worker = Locked<ThreadHandle?>(nil)
    @Sendable func next(_ number: Int, _ owner: UInt32) -> Probe {
      Probe {
        if ThreadHandle.current.kernelID == owner {
          tally.onOwner.wrappingAdd(1, ordering: .relaxed)
        }
        tally.released.wrappingAdd(1, ordering: .relaxed)
        guard number < 20, let handle = worker.withLock({ $0 }) else { return }
        try? concurrently(1) { _ in handle.dictionary["next"] = next(number + 1, owner) }
      }
    }
    let thread = try PosixThread.start {
      let me = ThreadHandle.current
      worker.withLock { $0 = me }
      me.dictionary["next"] = next(1, me.kernelID)
    }
    try thread.join()
    #expect(tally.released.load(ordering: .relaxed) == 20)
    #expect(tally.onOwner.load(ordering: .relaxed) == 1)
    #expect(thread.handle.dictionary["next"] == nil)
  }
}

/// Its release stores another of its kind.
private func storeAgain() {
  ThreadDictionary.current[Object.self] = Probe { storeAgain() }
}

@Suite("ThreadHandle", .endsInTime)
struct ThreadHandleTests {
  @Test("hooks are called on the ending thread, the last added first, before its values go")
  func hooks() throws {
    let order = Locked<[String]>([])
    let thread = try PosixThread.start {
      let me = ThreadHandle.current
      ThreadDictionary.current[Number.self] = 6
      for index in 0..<3 {
        me.atEnd {
          let value = ThreadDictionary.current[Number.self] ?? -1
          order.withLock { $0.append("\(index): \(value) \(me.isCurrent)") }
        }
      }
    }
    try thread.join()
    #expect(order.withLock { $0 } == ["2: 6 true", "1: 6 true", "0: 6 true"])
  }

  @Test("a foreign thread's handle tells when the thread has ended")
  func foreign() throws {
    let handle = Locked<ThreadHandle?>(nil)
    try concurrently(1) { _ in
      let me = ThreadHandle.current
      #expect(me === ThreadHandle.current)
      #expect(me.state == .running)
      #expect(me.isCurrent && !me.isMain)
      handle.withLock { $0 = me }
    }
    let ended = try #require(handle.withLock { $0 })
    #expect(ended.state == .finished)
    #expect(!ended.isCurrent)
  }

  @Test("the kernel's id is there as soon as start returns, and 0 before")
  func kernelID() throws {
    for _ in 0..<100 {
      let thread = PosixThread { ThreadHandle.current.kernelID }
      #expect(thread.handle.kernelID == 0)
      try thread.start()
      let outside = thread.handle.kernelID
      #expect(outside != 0)
      #expect(try thread.join() == outside)
    }
  }

  @Test("the main thread is known from everywhere")
  func main() async {
    let fromHere = ThreadHandle.main
    let there = await MainActor.run { ThreadHandle.main.kernelID }
    #expect(fromHere.kernelID == there)
    #expect(fromHere.isMain)
    #expect(fromHere.state == .running)
  }
}
