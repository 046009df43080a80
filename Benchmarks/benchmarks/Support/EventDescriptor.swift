internal import CThreadingPlatform
import Glibc

/// A blocking `eventfd`: the least that two threads can wake each other with through descriptors.
final class EventDescriptor: TurnSignal {
  let descriptor: CInt

  init() throws(WrongResult) {
    descriptor = ctp_eventfd(0)
    guard descriptor >= 0 else { throw WrongResult("eventfd: errno \(-descriptor)") }
    // The package's own are non-blocking.
    guard fcntl(descriptor, F_SETFL, 0) == 0 else { throw WrongResult("fcntl: errno \(errno)") }
  }

  deinit {
    close(descriptor)
  }

  func signal() {
    var one: UInt64 = 1
    while unsafe write(descriptor, &one, 8) != 8 {}
  }

  func wait() {
    var value: UInt64 = 0
    while unsafe read(descriptor, &value, 8) != 8 {}
  }
}
