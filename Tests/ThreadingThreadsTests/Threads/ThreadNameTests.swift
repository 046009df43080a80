import Synchronization
import TestSupport
import Testing
import Threading
import ThreadingPlatform

@Suite("Thread names", .endsInTime)
struct ThreadNameTests {
  @Test("a name set before the start is there inside, outside and in the system's listing")
  func beforeStart() throws {
    let thread = PosixThread(ThreadAttributes(name: "worker-A")) {
      (ThreadHandle.current.name, systemName(of: ThreadHandle.current))
    }
    #expect(thread.name == "worker-A")
    try thread.start()
    let inside = try thread.join()
    #expect(inside.0 == "worker-A")
    #expect(inside.1 == "worker-A")
    #expect(thread.name == "worker-A")
  }

  @Test(
    "a name of any length is kept; the system gets whole characters within 15 bytes",
    arguments: [
      ("0123456789abcdef-0123456789abcdef-0123456", "0123456789abcde"),
      ("ééééééééé", "ééééééé"), ("日本語日本語", "日本語日本"), ("", ""),
      ("fourteen bytesé", "fourteen bytes"),
      ("ab\u{1F9F5}\u{1F9F5}\u{1F9F5}", "ab\u{1F9F5}\u{1F9F5}\u{1F9F5}"),
      ("abc\u{1F9F5}\u{1F9F5}\u{1F9F5}\u{1F9F5}", "abc\u{1F9F5}\u{1F9F5}\u{1F9F5}"),
      ("abcd\u{1F9F5}\u{1F9F5}\u{1F9F5}", "abcd\u{1F9F5}\u{1F9F5}"),
    ])
  func longNames(name: String, listed: String) throws {
    let thread = try PosixThread.start(ThreadAttributes(name: name)) {
      (ThreadHandle.current.name, systemName(of: ThreadHandle.current))
    }
    let inside = try thread.join()
    #expect(inside.0 == name)
    #expect(inside.1 == listed)
  }

  @Test("an unnamed thread of a named one has no name and is listed as the program")
  func notInherited() throws {
    let parent = try PosixThread.start(ThreadAttributes(name: "parent")) {
      () -> (String?, String?) in
      let child = try? PosixThread.start {
        (ThreadHandle.current.name, systemName(of: ThreadHandle.current))
      }
      return (try? child?.join()) ?? ("no child", nil)
    }
    let child = try parent.join()
    #expect(child.0 == nil)
    #expect(child.1 == SystemThread.systemName(for: SystemThread.programName))
  }

  @Test(
    "an unnamed thread is listed as the program, whatever its starter was called before",
    arguments: [[], ["x"], ["x", nil], [nil], [nil, "x"]] as [[String?]])
  func ofRenamedParent(names: [String?]) throws {
    let parent = try PosixThread.start { () -> [String?] in
      for name in names { ThreadHandle.current.name = name }
      let child = try? PosixThread.start { () -> [String?] in
        let own = systemName(of: ThreadHandle.current)
        let grandchild = try? PosixThread.start { systemName(of: ThreadHandle.current) }
        return [own, (try? grandchild?.join()) ?? "no grandchild"]
      }
      return (try? child?.join()) ?? ["no child"]
    }
    let program = SystemThread.listedProgramName
    #expect(try parent.join() == [program, program])
  }

  @Test("a thread made while its unnamed starter is being renamed does not inherit the new name")
  func starterBeingRenamed() throws {
    let rounds = LongTests.areOn ? 100_000 : 2_000
    let program = SystemThread.listedProgramName
    for _ in 0..<rounds / 20 {
      let gate = Shared.Flag()
      let parent = try PosixThread.start { () -> Set<String?> in
        gate.set()
        return Set(
          (0..<20).map { _ in
            let child = try? PosixThread.start { systemName(of: ThreadHandle.current) }
            return (try? child?.join()) ?? "no child"
          })
      }
      gate.wait()
      parent.name = "renamed"
      let listed = try parent.join()
      #expect(listed == [program])
    }
  }

  @Test("a name is changed from inside and from outside while the thread runs")
  func changed() throws {
    let gate = Shared.Flag()
    let named = Shared.Flag()
    let thread = try PosixThread.start { () -> String? in
      ThreadHandle.current.name = "from inside"
      named.set()
      gate.wait()
      return ThreadHandle.current.name
    }
    named.wait()
    #expect(thread.name == "from inside")
    #expect(systemName(of: thread.handle) == "from inside")
    thread.name = "from outside, and rather long"
    #expect(systemName(of: thread.handle) == "from outside, a")
    gate.set()
    #expect(try thread.join() == "from outside, and rather long")
  }

  @Test("ended threads are renamed in their objects alone, joined or detached")
  func afterEnd() throws {
    var threads: [PosixThread<Void, Never>] = []
    for index in 0..<50 {
      threads.append(
        try PosixThread.start(ThreadAttributes(isDetached: index.isMultiple(of: 2))) {})
    }
    for thread in threads {
      if thread.attributes.isDetached {
        #expect(eventually { thread.state == .finished })
      } else {
        try thread.join()
      }
    }
    for (index, thread) in threads.enumerated() {
      thread.name = "ended \(index)"
      #expect(thread.name == "ended \(index)")
    }
  }

  @Test("renaming a thread again and again while it ends is safe", arguments: 0..<20)
  func raceWithEnd(round: Int) throws {
    let thread = try PosixThread.start {}
    var count = 0
    while thread.state != .finished || count < 10 {
      thread.name = "round \(round)-\(count)"
      count += 1
    }
    try thread.join()
    #expect(thread.name == "round \(round)-\(count - 1)")
  }

  @Test("naming the main thread leaves the process's name alone")
  func mainThread() async {
    await #expect(processExitsWith: .success) {
      let listed = try SystemThread.name(ofThread: SystemThread.processID)
      ThreadHandle.main.name = "the boss"
      precondition(ThreadHandle.main.name == "the boss")
      let after = try SystemThread.name(ofThread: SystemThread.processID)
      precondition(after == listed)
    }
  }

  @Test("a foreign thread has no name until it is given one, which the system lists")
  func foreign() throws {
    let names = Locked<[String?]>([])
    try concurrently(1) { _ in
      let me = ThreadHandle.current
      names.withLock { $0.append(me.name) }
      me.name = "adopted"
      names.withLock { $0.append(systemName(of: me)) }
    }
    #expect(names.withLock { $0 } == [nil, "adopted"])
  }
}

private func systemName(of handle: ThreadHandle) -> String? {
  try? SystemThread.name(ofThread: handle.kernelID)
}
