import Glibc
import TestSupport
import Testing
import Threading
import ThreadingPlatform

@testable import ThreadingRunLoop

/// Starts `body` in a child process made by `fork`, which ends with it.
func startForkedChild(_ body: () -> Bool) -> pid_t {
  typealias Fork = @convention(c) () -> CInt
  guard let address = unsafe dlsym(nil, "fork") else { fatalError("no fork") }
  let child = unsafe unsafeBitCast(address, to: Fork.self)()
  if child == 0 {
    // Whatever hangs ends.
    alarm(30)
    _exit(body() ? 0 : 1)
  }
  return child
}

/// Waits for the end of a child process.
///
/// - Returns: what it has made of its work: its exit status, or the negative signal that ended it.
func waitForChild(_ child: pid_t) -> CInt {
  var status: CInt = 0
  while unsafe waitpid(child, &status, 0) < 0 && errno == EINTR {}
  return status & 0x7F == 0 ? status >> 8 : -(status & 0x7F)
}

/// Runs `body` in a child process made by `fork`.
func inForkedChild(_ body: () -> Bool) -> CInt { waitForChild(startForkedChild(body)) }

@Suite("After a fork", .endsInTime)
struct ForkTests {
  @Test("the child's thread knows its own id")
  func identity() async {
    await #expect(processExitsWith: .success) {
      try onOwnThread {
        let mine = ThreadHandle.current.kernelID
        let status = inForkedChild {
          let id = ThreadHandle.current.kernelID
          return id == SystemThread.processID && id != mine
        }
        precondition(status == 0, "\(status)")
      }
    }
  }

  @Test("the child's thread has a loop of its own, and leaves alone what the parent's watches")
  func loop() async {
    await #expect(processExitsWith: .success) {
      try onOwnThread {
        let loop = ThreadRunLoop.current
        let pipe = Pipe()
        let seen = Shared(0)
        try? loop.add(
          DescriptorSource(pipe.reader, for: .readable) { source, _ in
            _ = readByte(source.descriptor)
            seen.change { $0 += 1 }
          })
        let status = inForkedChild {
          let own = ThreadRunLoop.current
          let ran = Shared(false)
          own.perform { ran.set(true) }
          let reason = own.run()
          return own !== loop && own.isCurrent && !loop.isCurrent && ran.value
            && reason == .finished
        }
        precondition(status == 0, "\(status)")
        pipe.write()
        loop.run(mode: .default, until: .now.advanced(by: .seconds(20)))
        precondition(seen.value == 1)
      }
    }
  }
}
