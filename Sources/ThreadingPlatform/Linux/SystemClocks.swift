internal import CThreadingPlatform
internal import Glibc

/// The system's clocks and alarms: the only code of the package that calls `timerfd_create(2)`.
package struct SystemClocks: TimerClocks {
  package init() {}

  package func nanoseconds(of clock: TimerClock) -> Int64 {
    ctp_clock_nanoseconds(Self.id(clock))
  }

  package func makeAlarm(on clock: TimerClock) throws(ThreadingError) -> any ClockAlarm {
    try SystemAlarm(clock)
  }

  fileprivate static func id(_ clock: TimerClock) -> clockid_t {
    switch clock {
    case .monotonic: CLOCK_MONOTONIC
    case .boot: CLOCK_BOOTTIME
    case .wall: CLOCK_REALTIME
    }
  }
}

private final class SystemAlarm: ClockAlarm {
  let descriptor: CInt
  private let isCancelledBySetting: Bool

  init(_ clock: TimerClock) throws(ThreadingError) {
    descriptor = ctp_timerfd(SystemClocks.id(clock))
    isCancelledBySetting = clock == .wall
    guard descriptor >= 0 else { throw .descriptorRefused("timerfd_create", -descriptor) }
  }

  deinit { close(descriptor) }

  func set(to nanoseconds: Int64?) {
    // Zero would be never, and so is what lies before the clock's zero: both have passed.
    let moment = nanoseconds.map { max(1, $0) } ?? 0
    var code: CInt
    repeat {
      code = ctp_timerfd_set(descriptor, moment, isCancelledBySetting && moment > 0)
      // The clock was set during the call.
    } while code == ECANCELED
    require(code == 0, "SystemAlarm.set: timerfd_settime failed with errno \(code)")
  }

  func clear() {
    var count: UInt64 = 0
    // EAGAIN: it did not ring. ECANCELED: the clock was set; the alarm has to be set anew.
    _ = unsafe read(descriptor, &count, MemoryLayout<UInt64>.size)
  }
}
