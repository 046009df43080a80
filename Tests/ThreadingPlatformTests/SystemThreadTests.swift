import CThreadingPlatform
import Glibc
import Synchronization
import TestSupport
import Testing
import ThreadingPlatform

@Suite("SystemThread", .endsInTime)
struct SystemThreadTests {
  @Test("a thread runs its body and has let go of it when join returns")
  func bodyIsReleased() throws {
    let ran = Atomic<Int>(0)
    for _ in 0..<50 {
      weak var captured: Captured?
      let thread: SystemThread
      do {
        let object = Captured()
        captured = object
        thread = try SystemThread.start(.init()) {
          withExtendedLifetime(object) { _ = ran.wrappingAdd(1, ordering: .relaxed) }
        }
      }
      thread.join()
      #expect(captured == nil)
    }
    #expect(ran.load(ordering: .relaxed) == 50)
  }

  @Test("only the codes of a refused thread are taken for a refusal")
  func refusalCodes() {
    for code in [EAGAIN, ENOMEM, EINVAL, EPERM] { #expect(SystemThread.isRefusalOfThread(code)) }
    for code in [0, ENOSYS, EINTR, ENOENT] { #expect(!SystemThread.isRefusalOfThread(code)) }
  }

  @Test("a refused start names the call and the size, and lets go of the body")
  func refused() throws {
    weak var captured: Captured?
    do {
      let object = Captured()
      captured = object
      let error = try #require(throws: ThreadingError.self) {
        try SystemThread.start(.init(stackSize: 1 << 46)) { withExtendedLifetime(object) {} }
      }
      #expect(error.call == "pthread_create")
      #expect(error.codeName == "EAGAIN")
      #expect(error.message.contains("\(1 << 46) bytes"))
    }
    #expect(captured == nil)
  }

  @Test("a stack below the system's minimum is refused with the minimum")
  func tooSmall() throws {
    let least = SystemThread.minimumStackSize
    let error = try #require(throws: ThreadingError.self) {
      try SystemThread.start(.init(stackSize: 1_000)) {}
    }
    #expect(error.call == "pthread_attr_setstacksize")
    #expect(error.message.contains("1000 bytes"))
    #expect(error.message.contains("\(least) bytes"))
  }

  @Test("ten thousand detached threads one after another leave no threads and little memory")
  func detachedThreads() async {
    // In a process of its own: the figures are those of the whole process.
    await #expect(processExitsWith: .success) { try SystemThreadTests().checkDetachedThreads() }
  }

  fileprivate func checkDetachedThreads() throws {
    func runMany(_ count: Int) throws {
      for _ in 0..<count {
        let ended = Atomic<UInt32>(0)
        _ = try SystemThread.start(.init(stackSize: 1 << 16, isDetached: true)) {
          ended.store(1, ordering: .releasing)
          Futex.wakeAll(ended)
        }
        while ended.load(ordering: .acquiring) == 0 { _ = Futex.wait(ended, while: 0) }
      }
    }
    try runMany(500)
    let before = ProcessFigures.now()
    try runMany(ThreadSanitizer.isActive ? 500 : 10_000)
    // The thread sanitizer keeps memory of its own for ended threads.
    if !ThreadSanitizer.isActive {
      let kept = ProcessFigures.mapsOfKeptStacks(ofBytes: 1 << 16)
      #expect(eventually { ProcessFigures.now().maps <= before.maps + kept + 40 })
    }
  }

  @Test("the system's name of a text is whole characters within its limit")
  func systemName() {
    #expect(SystemThread.systemName(for: "short") == "short")
    #expect(SystemThread.systemName(for: "0123456789abcdef") == "0123456789abcde")
    #expect(SystemThread.systemName(for: "ééééééééé") == "ééééééé")
  }

  @Test("a name longer than the system keeps is refused, one that fits is listed")
  func setName() throws {
    let thread = try SystemThread.start(.init()) {
      do throws(ThreadingError) {
        try SystemThread.setCurrentName("0123456789abcdef")
        Issue.record("16 bytes were taken")
      } catch {
        #expect(error.codeName == "ERANGE")
      }
      SystemThread.current.setName("fits")
      let listed = try? SystemThread.name(ofThread: SystemThread.currentID)
      #expect(listed == "fits")
    }
    thread.join()
  }

  @Test("there is no name for a thread that does not exist")
  func noSuchThread() throws {
    #expect(try SystemThread.name(ofThread: UInt32(Int32.max)) == nil)
  }

  @Test("errno can be read after another library's call, and is a thread's own")
  func lastError() throws {
    SystemThread.lastError = 7
    let thread = try SystemThread.start(.init()) { SystemThread.lastError = 9 }
    thread.join()
    #expect(SystemThread.lastError == 7)
    SystemThread.lastError = 0
  }
}

@Suite("ThreadRecordSlot", .endsInTime)
struct ThreadRecordSlotTests {
  @Test("a record is found on its thread, and released when the thread has ended")
  func lifetime() throws {
    let record = Slot()
    try concurrently(1) { _ in
      #expect(ThreadRecordSlot.current == nil)
      ThreadRecordSlot.install(record)
      #expect(ThreadRecordSlot.current === record)
    }
    #expect(record.calls.load(ordering: .relaxed) == 1)
    #expect(record.wasCurrent)
  }

  @Test("a record that asks to stay is called again in the following rounds", arguments: 0...2)
  func stays(rounds: Int) throws {
    let record = Slot(rounds: rounds)
    let released = Atomic<Int>(0)
    try concurrently(1) { _ in
      ThreadRecordSlot.install(
        Slot(rounds: rounds) { released.wrappingAdd(1, ordering: .relaxed) })
    }
    try concurrently(1) { _ in ThreadRecordSlot.install(record) }
    #expect(record.calls.load(ordering: .relaxed) == rounds + 1)
    #expect(released.load(ordering: .relaxed) == 1)
  }

  @Test("a record that the release of another installs is treated the same way")
  func lateRecord() throws {
    let late = Slot()
    try concurrently(1) { _ in
      ThreadRecordSlot.install(Slot(onRelease: { ThreadRecordSlot.install(late) }))
    }
    #expect(late.calls.load(ordering: .relaxed) == 1)
    #expect(late.wasCurrent)
  }

  @Test("installing over a record stops the program")
  func twice() async {
    await #expect(processExitsWith: .failure) {
      ThreadRecordSlot.install(Slot())
      ThreadRecordSlot.install(Slot())
    }
  }
}

/// Something whose release a test watches.
private final class Captured: Sendable {}

/// A record that stays for some rounds of destructors.
private final class Slot: ThreadRecordObject, Sendable {
  let calls = Atomic<Int>(0)
  private let sawItself = Atomic<Bool>(false)
  var wasCurrent: Bool { sawItself.load(ordering: .relaxed) }
  private let rounds: Int
  private let onRelease: @Sendable () -> Void

  init(rounds: Int = 0, onRelease: @escaping @Sendable () -> Void = {}) {
    self.rounds = rounds
    self.onRelease = onRelease
  }

  static var ending: @convention(c) (UnsafeMutableRawPointer) -> Bool {
    { record in unsafe Unmanaged<Slot>.fromOpaque(record).takeUnretainedValue().threadWillEnd() }
  }

  func threadWillEnd() -> Bool {
    sawItself.store(ThreadRecordSlot.current === self, ordering: .relaxed)
    return calls.wrappingAdd(1, ordering: .relaxed).newValue <= rounds
  }

  deinit { onRelease() }
}
