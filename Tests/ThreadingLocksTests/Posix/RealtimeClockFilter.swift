import Glibc

/// A filter of system calls, for a child process: one that waits on the realtime clock, which jumps
/// when the date is set, ends the process with SIGSYS.
///
/// Setting the date to see whether a wait minds would upset the whole machine. This sees the same
/// from the other side: a wait that the kernel ends by the monotonic clock does not mind.
enum RealtimeClockFilter {
  /// Puts the filter in force, for this thread and those that it starts.
  static func install() {
    // The number of a call and some of its arguments: offsets in `struct seccomp_data`.
    let number: UInt32 = 0
    let first: UInt32 = 16
    let second: UInt32 = 24
    let timeout: (UInt32, UInt32) = (40, 44)
    let filter = [
      load(number),
      // futex with a limit (without one, the clock means nothing): neither with
      // FUTEX_CLOCK_REALTIME, nor FUTEX_LOCK_PI, which always means that clock.
      jump(ifEqual: SystemCall.futex, 0, 11),
      load(timeout.0),
      jump(ifAnySet: .max, 2, 0),
      load(timeout.1),
      jump(ifAnySet: .max, 0, 5),
      load(second),
      jump(ifAnySet: 256, 4, 0),
      mask(127),
      jump(ifEqual: 6, 2, 0),
      allow,
      allow,
      kill,
      // clock_nanosleep and timerfd_create: not with CLOCK_REALTIME.
      jump(ifEqual: SystemCall.clockNanosleep, 1, 0),
      jump(ifEqual: SystemCall.timerCreate, 0, 2),
      load(first),
      jump(ifEqual: 0, 1, 0),
      allow,
      kill,
    ]
    var copy = filter
    let prctl = unsafe dlsym(nil, "prctl").map {
      unsafe unsafeBitCast($0, to: (@convention(c) (Int, UInt, UInt, UInt, UInt) -> CInt).self)
    }
    guard let prctl else { fatalError("no prctl") }
    let noNewPrivileges = prctl(38, 1, 0, 0, 0)
    let installed = unsafe copy.withUnsafeMutableBufferPointer { program in
      var header = unsafe Program(
        count: UInt16(program.count), instructions: program.baseAddress)
      return unsafe withUnsafePointer(to: &header) {
        prctl(22, 2, UInt(bitPattern: $0), 0, 0)
      }
    }
    guard noNewPrivileges == 0 && installed == 0 else { fatalError("no filter: errno \(errno)") }
  }

  /// `struct sock_fprog`.
  @unsafe
  private struct Program {
    var count: UInt16
    var instructions: UnsafeMutablePointer<UInt64>?
  }

  private enum SystemCall {
    #if arch(x86_64)
      static let futex: UInt32 = 202
      static let clockNanosleep: UInt32 = 230
      static let timerCreate: UInt32 = 283
    #elseif arch(arm64)
      static let futex: UInt32 = 98
      static let clockNanosleep: UInt32 = 115
      static let timerCreate: UInt32 = 85
    #endif
  }

  // `struct sock_filter`, in one word: code, jump if true, jump if false, operand.
  private static func instruction(
    _ code: UInt64, _ ifTrue: UInt64, _ ifFalse: UInt64, _ operand: UInt32
  ) -> UInt64 {
    code | ifTrue << 16 | ifFalse << 24 | UInt64(operand) << 32
  }

  private static func load(_ offset: UInt32) -> UInt64 { instruction(0x20, 0, 0, offset) }
  private static func mask(_ bits: UInt32) -> UInt64 { instruction(0x54, 0, 0, bits) }
  private static func jump(ifEqual value: UInt32, _ yes: UInt64, _ no: UInt64) -> UInt64 {
    instruction(0x15, yes, no, value)
  }
  private static func jump(ifAnySet bits: UInt32, _ yes: UInt64, _ no: UInt64) -> UInt64 {
    instruction(0x45, yes, no, bits)
  }
  private static let allow = instruction(0x06, 0, 0, 0x7fff_0000)
  private static let kill = instruction(0x06, 0, 0, 0x8000_0000)
}
