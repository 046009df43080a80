import Glibc
import TestSupport
import Testing
import Threading
import ThreadingPlatform

@Suite("ProcessSource", .endsInTime)
struct ProcessSourceTests {
  @Test("a child's exit code, and the signal that killed one, are reported; the child is gone then")
  func endings() throws {
    let endings = try onOwnThread {
      let loop = ThreadRunLoop.current
      let endings = Shared<[CInt: ProcessSource.Ending]>([:])
      let exits = startShell("exit 3")
      let killed = startShell("kill -KILL $$")
      for child in [exits, killed] {
        try? loop.add(
          ProcessSource(child) { source, ending in
            endings.change { $0[source.processID] = ending }
          })
      }
      let reason = loop.run(for: .seconds(50))
      #expect(reason == .finished)
      #expect(waitpid(exits, nil, WNOHANG) == -1)
      return [endings.value[exits], endings.value[killed]]
    }
    #expect(endings == [.exited(code: 3), .killed(signal: SIGKILL, dumpedCore: false)])
  }

  @Test(
    "a child that is not to be reaped is left for somebody else; asked for before, it is unknown")
  func notReaped() throws {
    let (first, second) = try onOwnThread {
      let loop = ThreadRunLoop.current
      let endings = Shared<[ProcessSource.Ending]>([])
      let child = startShell("exit 5")
      let second = try? ProcessSource(child) { _, ending in endings.append(ending) }
      try? loop.add(ProcessSource(child, reaps: false) { _, ending in endings.append(ending) })
      loop.run(for: .seconds(50))
      var status: CInt = 0
      #expect(unsafe waitpid(child, &status, 0) == child)
      try? loop.add(second!)
      loop.run(for: .seconds(50))
      return (endings.value.first, endings.value.last)
    }
    #expect(first == .exited(code: 5))
    #expect(second == .unknown)
  }

  @Test("a process that does not exist is refused")
  func refused() {
    for process: CInt in [-1, 0, CInt.max] {
      #expect(throws: ThreadingError.self) { try ProcessSource(process) { _, _ in } }
    }
  }

  @Test("a cancelled source does not call, and leaves the child to its parent")
  func cancelled() throws {
    let child = startShell("exit 0")
    let thread = try LoopThread()
    let called = Shared(false)
    let source = try ProcessSource(child) { _, _ in called.set(true) }
    source.cancel()
    #expect(throws: ThreadingError.self) { try thread.loop.add(source) }
    var status: CInt = 0
    #expect(unsafe waitpid(child, &status, 0) == child)
    thread.end()
    #expect(!called.value)
  }
}

/// Starts a shell that runs `script`.
private func startShell(_ script: String) -> pid_t {
  var child = pid_t()
  let words = ["sh", "-c", script]
  var arguments: [UnsafeMutablePointer<CChar>?] = unsafe words.map { unsafe strdup($0) }
  unsafe arguments.append(nil)
  let code = unsafe posix_spawn(&child, "/bin/sh", nil, nil, arguments, nil)
  guard code == 0 else { fatalError("posix_spawn failed with errno \(code)") }
  for index in unsafe arguments.indices { unsafe free(arguments[index]) }
  return child
}
