internal import CThreadingPlatform
internal import Glibc

/// Waits for descriptors to become ready, for a deadline, or for a wake from another thread: the
/// only code of the package that calls `epoll(7)`.
///
/// One thread waits; ``wake()`` and the changes of registrations may come from any thread.
package final class Poller: Sendable {
  /// What a registration asks for and an event reports.
  package struct Events: OptionSet, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The descriptor can be read, or a listening socket has a connection.
    package static let readable = Events(rawValue: 1 << 0)
    /// The descriptor can be written.
    package static let writable = Events(rawValue: 1 << 1)
    /// The other side has closed, in whole or for writing. Always reported.
    package static let hangUp = Events(rawValue: 1 << 2)
    /// An error is pending on the descriptor. Always reported.
    package static let error = Events(rawValue: 1 << 3)
    /// The descriptor was closed while it was watched. Never reported by the poller itself, which
    /// the system does not tell: found by ``Poller/isWatching(_:)``.
    package static let closed = Events(rawValue: 1 << 4)
  }

  /// How often a readiness that lasts is reported.
  package enum Trigger: Sendable {
    /// On each wait while the descriptor is ready.
    case level
    /// Once per change from not ready to ready.
    case edge
  }

  /// A descriptor that became ready.
  package struct Event: Sendable {
    /// The token of the registration.
    package let token: UInt64
    package let events: Events

    package init(token: UInt64, events: Events) {
      self.token = token
      self.events = events
    }
  }

  private let epoll: CInt
  private let wakeDescriptor: CInt

  /// The token of the wake descriptor; no registration may use it.
  package static let reservedToken = UInt64.max

  /// Makes a poller, which takes two descriptors.
  ///
  /// - Throws: EMFILE or ENFILE when descriptors have run out, ENOMEM.
  package init() throws(ThreadingError) {
    epoll = ctp_epoll_create()
    guard epoll >= 0 else { throw .descriptorRefused("epoll_create1", -epoll) }
    wakeDescriptor = ctp_eventfd(0)
    guard wakeDescriptor >= 0 else {
      close(epoll)
      throw .descriptorRefused("eventfd", -wakeDescriptor)
    }
    // The object is complete: if this throws, its deinit closes both.
    try watchWakeDescriptor(in: epoll)
  }

  deinit {
    close(wakeDescriptor)
    close(epoll)
  }

  /// Starts watching a descriptor.
  ///
  /// - Throws: EBADF for a number that is not open, EPERM for one that cannot be polled (a regular
  ///   file), EEXIST for one that is watched already, ENOMEM or ENOSPC.
  package func add(
    _ descriptor: CInt, for events: Events, trigger: Trigger, token: UInt64
  ) throws(ThreadingError) {
    try control(EPOLL_CTL_ADD, descriptor, events, trigger, token, in: epoll)
  }

  /// Changes what is watched for, and the token.
  ///
  /// - Throws: as ``add(_:for:trigger:token:)``; ENOENT when the descriptor is not watched.
  package func modify(
    _ descriptor: CInt, for events: Events, trigger: Trigger, token: UInt64
  ) throws(ThreadingError) {
    try control(EPOLL_CTL_MOD, descriptor, events, trigger, token, in: epoll)
  }

  /// Stops watching a descriptor.
  ///
  /// - Returns: false if it was closed before. It is no longer watched then either, unless what it
  ///   stood for is still open under another number, here or in a child process: its events go on
  ///   and nothing but ``startAnew(_:)`` ends them.
  @discardableResult
  package func remove(_ descriptor: CInt) -> Bool {
    ctp_epoll_control(epoll, CInt(EPOLL_CTL_DEL), descriptor, 0, 0) == 0
  }

  /// Whether the descriptor still stands for what is being watched under its number: false if it
  /// was closed, and if the number was given to something else since.
  package func isWatching(_ descriptor: CInt) -> Bool {
    // Adding what is there already is refused and changes nothing.
    switch ctp_epoll_control(epoll, CInt(EPOLL_CTL_ADD), descriptor, 0, 0) {
    case 0:
      remove(descriptor)
      return false
    case EBADF, EPERM: return false
    default: return true
    }
  }

  /// Forgets all registrations but the given ones, with those that ``remove(_:)`` could not end.
  /// Only for the thread that waits.
  ///
  /// - Throws: EMFILE or ENFILE when descriptors have run out, ENOMEM; nothing has changed then.
  package func startAnew(
    _ registrations: [(descriptor: CInt, events: Events, trigger: Trigger, token: UInt64)]
  ) throws(ThreadingError) {
    let fresh = ctp_epoll_create()
    guard fresh >= 0 else { throw .descriptorRefused("epoll_create1", -fresh) }
    defer { close(fresh) }
    try watchWakeDescriptor(in: fresh)
    for entry in registrations {
      do throws(ThreadingError) {
        try control(
          EPOLL_CTL_ADD, entry.descriptor, entry.events, entry.trigger, entry.token, in: fresh)
      } catch {
        // What was closed meanwhile is found by isWatching.
        if error.code == ENOMEM || error.code == ENOSPC { throw error }
      }
    }
    // The number stays the same, so a change from another thread is never made to a closed one.
    let code = ctp_duplicate_onto(fresh, epoll)
    guard code == 0 else { throw .refused("dup3", code) }
  }

  /// Waits until at least one watched descriptor is ready, ``wake()`` is called or the deadline
  /// passes, and appends what became ready to `ready`.
  ///
  /// A deadline that has passed makes this a look without waiting. A signal that is handled
  /// meanwhile does not end the wait.
  ///
  /// - Returns: whether ``wake()`` was called.
  package func wait(until deadline: MonotonicInstant, into ready: inout [Event]) -> Bool {
    unsafe withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: Self.batch) { buffer in
      unsafe waitOnce(until: deadline, buffer: buffer, into: &ready)
    }
  }

  /// Ends the present wait, or the next one if there is none now. Costs one system call.
  package func wake() {
    var one: UInt64 = 1
    while true {
      let written = unsafe write(wakeDescriptor, &one, MemoryLayout<UInt64>.size)
      if written >= 0 { return }
      switch errno {
      case EINTR: continue
      case EAGAIN: drainWakes()  // The counter is full (2^64 - 2 wakes): make room, write again.
      case let code: fatalError("Poller.wake: write to the eventfd failed with errno \(code)")
      }
    }
  }

  // MARK: -

  /// The most events that one wait reports.
  private static let batch = 128
  private static let edgeReadable = EPOLLIN.rawValue | EPOLLET.rawValue

  private func watchWakeDescriptor(in epoll: CInt) throws(ThreadingError) {
    // Edge-triggered: each write is reported once without the counter having to be read.
    let code = ctp_epoll_control(
      epoll, CInt(EPOLL_CTL_ADD), wakeDescriptor, Self.edgeReadable, Self.reservedToken)
    guard code == 0 else { throw .refused("epoll_ctl", code) }
  }

  private func control(
    _ operation: CInt, _ descriptor: CInt, _ events: Events, _ trigger: Trigger, _ token: UInt64,
    in epoll: CInt
  ) throws(ThreadingError) {
    require(token != Self.reservedToken, "Poller: the token \(token) is reserved")
    var native: UInt32 = EPOLLRDHUP.rawValue
    if events.contains(.readable) { native |= EPOLLIN.rawValue }
    if events.contains(.writable) { native |= EPOLLOUT.rawValue }
    if trigger == .edge { native |= EPOLLET.rawValue }
    let code = ctp_epoll_control(epoll, operation, descriptor, native, token)
    guard code == 0 else {
      let reason =
        switch code {
        case EBADF: "is not open"
        case EPERM: "cannot be waited for (it is a regular file or a directory)"
        case EEXIST: "is watched by this loop already; one source can watch it for all events"
        default: "was refused: \(unsafe String(cString: strerror(code)))"
        }
      throw ThreadingError(
        call: "epoll_ctl", code: code, message: "descriptor \(descriptor) \(reason)")
    }
  }

  private func waitOnce(
    until deadline: MonotonicInstant, buffer: UnsafeMutableBufferPointer<epoll_event>,
    into ready: inout [Event]
  ) -> Bool {
    var count: CInt
    repeat {
      if deadline == .distantFuture {
        count = unsafe ctp_epoll_wait(epoll, buffer.baseAddress!, CInt(buffer.count), nil)
      } else {
        let left = max(.zero, MonotonicInstant.now.duration(to: deadline))
        var timeout = MonotonicInstant(nanoseconds: left.saturatedNanoseconds).timespec
        count = unsafe ctp_epoll_wait(epoll, buffer.baseAddress!, CInt(buffer.count), &timeout)
      }
    } while count == -EINTR
    require(count >= 0, "Poller.wait: epoll_wait failed with errno \(-count)")
    var woken = false
    for index in 0..<Int(count) {
      let token = unsafe ctp_epoll_event_token(&buffer[index])
      if token == Self.reservedToken {
        woken = true
      } else {
        ready.append(Event(token: token, events: unsafe Self.events(buffer[index].events)))
      }
    }
    return woken
  }

  private static func events(_ native: UInt32) -> Events {
    var events: Events = []
    if native & EPOLLIN.rawValue != 0 { events.insert(.readable) }
    if native & EPOLLOUT.rawValue != 0 { events.insert(.writable) }
    if native & (EPOLLHUP.rawValue | EPOLLRDHUP.rawValue) != 0 { events.insert(.hangUp) }
    if native & EPOLLERR.rawValue != 0 { events.insert(.error) }
    return events
  }

  private func drainWakes() {
    var value: UInt64 = 0
    _ = unsafe read(wakeDescriptor, &value, MemoryLayout<UInt64>.size)
  }
}

extension ThreadingError {
  /// An error of a call that makes a descriptor.
  package static func descriptorRefused(_ call: String, _ code: CInt) -> ThreadingError {
    switch code {
    case EMFILE:
      return ThreadingError(
        call: call, code: code,
        message: "the process is at its limit of open descriptors (RLIMIT_NOFILE)")
    case ENFILE:
      return ThreadingError(
        call: call, code: code, message: "the system is at its limit of open files")
    default: return .refused(call, code)
    }
  }
}
