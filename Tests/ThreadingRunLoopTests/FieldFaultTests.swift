import Dispatch
import Glibc
import TestSupport
import Testing
import Threading
import ThreadingPlatform

@testable import ThreadingRunLoop

// A global, since a signal handler captures nothing.
// SAFETY: written before the handler is installed.
private nonisolated(unsafe) var loopOfHandler: Unmanaged<ThreadRunLoop>?

@Suite("Faults that other run loops have had", .endsInTime)
struct FieldFaultTests {
  @Test("a loop can be stopped in a signal handler, whatever the interrupted thread was doing")
  func stopInSignalHandler() async {
    await #expect(processExitsWith: .success) {
      let thread = try inBackground {
        unblock(SIGUSR1)
        let loop = ThreadRunLoop.current
        unsafe loopOfHandler = .passRetained(loop)
        var action = sigaction()
        unsafe action.__sigaction_handler.sa_handler = { _ in
          unsafe loopOfHandler?._withUnsafeGuaranteedRef { $0.stop() }
        }
        _ = unsafe sigaction(SIGUSR1, &action, nil)
        let me = ThreadID(value: pthread_self())
        let isDone = ExitFlag()
        let count = Shared(0)
        let sender = try? inBackground {
          for round in 1...1_000 {
            _ = pthread_kill(me.value, SIGUSR1)
            count.waitUntil { $0 >= round }
          }
          isDone.set()
        }
        let others = try? (0..<2).map { _ in
          try inBackground {
            while !isDone.isSet {
              let timer = try? ThreadTimer(after: .seconds(100)) { _ in }
              if let timer { try? loop.add(timer) }
              timer?.cancel()
            }
          }
        }
        while !isDone.isSet {
          // Takes the locks that the handler must not need.
          let timer = try? ThreadTimer(after: .seconds(100)) { _ in }
          if let timer { try? loop.add(timer) }
          let reason = loop.run(until: isDone)
          timer?.cancel()
          precondition(reason == .stopped || reason == .flagSet)
          count.change { $0 += 1 }
        }
        sender?()
        for join in others ?? [] { join() }
      }
      thread()
      exit(0)
    }
  }

  @Test(
    "the loop's own descriptors are not inherited by programs that are started, and do not block")
  func ownDescriptors() async {
    await #expect(processExitsWith: .success) {
      // A forked child has one thread: nobody else opens descriptors there.
      let status = inForkedChild {
        let pipe = Pipe()
        let before = openDescriptors()
        let loop = ThreadRunLoop.current
        let reader = DescriptorSource(pipe.reader, for: .readable) { _, _ in }
        try? loop.add(reader, in: [ownMode])
        for clock in TimerClock.allCases {
          try? loop.add(ThreadTimer(after: .seconds(100), on: clock) { _ in }, in: [ownMode])
        }
        guard let signals = try? SignalSource(SIGWINCH, handler: { _, _ in }),
          let files = try? FileWatchSource(handler: { _, _ in })
        else { return false }
        try? loop.add(signals, in: [ownMode])
        try? loop.add(files, in: [ownMode])
        loop.poll(mode: ownMode)
        let own = openDescriptors().subtracting(before)
        let closedOnExec = own.filter { fcntl($0, F_GETFD) & FD_CLOEXEC != 0 }
        // Files are read until there are none; of an epoll set nothing can be read.
        let blocking = own.filter { fcntl($0, F_GETFL) & O_NONBLOCK == 0 && isReadable($0) }
        // epoll, its wake, two clocks, a signal, files.
        return own.count == 6 && closedOnExec == own && blocking.isEmpty
      }
      precondition(status == 0, "\(status)")
    }
  }

  @Test("out of descriptors, a listener is paused: no spinning, others are served, clients wait")
  func listenerOutOfDescriptors() async {
    await #expect(processExitsWith: .success) {
      try onOwnThread {
        let loop = ThreadRunLoop.current
        let (listener, clients) = listenerWithClients(3)
        let pipe = Pipe()
        let (accepted, failed, served) = (Shared(0), Shared(0), Shared(0))
        var limits = rlimit()
        _ = unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
        let room = limits
        let source = DescriptorSource(listener, for: .readable) { source, _ in
          let client = accept(listener, nil, nil)
          if client >= 0 {
            accepted.change { $0 += 1 }
          } else {
            precondition(errno == EMFILE)
            failed.change { $0 += 1 }
            source.pause()
            _ = try? ThreadRunLoop.current.perform(after: .milliseconds(20)) { source.resume() }
          }
        }
        try? loop.add(source)
        try? loop.add(
          DescriptorSource(pipe.reader, for: .readable) { source, _ in
            _ = readByte(source.descriptor)
            served.change { $0 += 1 }
          })
        loop.poll()
        precondition(accepted.value == 1)
        limits.rlim_cur = 0
        _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
        let passes = loop.counters.passes
        try? loop.add(ThreadTimer(after: .milliseconds(50)) { _ in pipe.write() })
        let limit = MonotonicInstant.now.advanced(by: .seconds(60))
        while failed.value < 3 || served.value == 0, .now < limit {
          loop.run(mode: .default, until: limit)
        }
        precondition(failed.value >= 3 && served.value == 1 && accepted.value == 1)
        // A few for each time that it was tried again.
        let spent = loop.counters.passes - passes
        precondition(spent < 10 * (failed.value + 2), "\(spent) for \(failed.value)")
        var more = room
        _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &more)
        while accepted.value < 3 { loop.run(mode: .default) }
        for client in clients { close(client) }
      }
    }
  }

  @Test(
    "a timer from a thread of a pool: its own loop never runs, and says so; the service loop does")
  func poolWorker() throws {
    let results = Shared<[String]>([])
    let fired = Shared<[String]>([])
    DispatchQueue.global().async {
      // The thread is kept until all is seen: what it does next may well be another test, with its loop.
      let loop = ThreadRunLoop.current
      let passes = loop.counters.passes
      do {
        let timer = try ThreadTimer(after: .milliseconds(1)) { _ in fired.append("own") }
        try loop.add(timer)
        let service = try ThreadRunLoop.service()
        try service.perform(after: .milliseconds(5)) {
          fired.append(service.isCurrent ? "service" : "elsewhere")
        }
        fired.waitUntil { !$0.isEmpty }
        results.append("\(loop.counters.passes - passes) passes")
        timer.cancel()
      } catch { results.append("\(error)") }
    }
    results.waitUntil { $0.count == 1 }
    #expect(fired.value == ["service"])
    #expect(results.value == ["0 passes"])
  }

  @Test("the service loop is one for all, runs on when it is stopped, and is new in a forked child")
  func service() async {
    await #expect(processExitsWith: .success) {
      let loops = Shared<[ObjectIdentifier]>([])
      try concurrently(8) { _ in
        guard let loop = try? ThreadRunLoop.service() else { return }
        loops.append(ObjectIdentifier(loop))
      }
      precondition(loops.value.count == 8 && Set(loops.value).count == 1)
      try onOwnThread {
        guard let loop = try? ThreadRunLoop.service() else { fatalError("no service loop") }
        for _ in 0..<10 {
          loop.stop()
          try? loop.performAndWait {}
        }
        // The sanitizer lets a child of a process with threads start none.
        guard !ThreadSanitizer.isActive else { return }
        let status = inForkedChild {
          guard let own = try? ThreadRunLoop.service() else { return false }
          return own !== loop && (try? own.performAndWait { own.isCurrent }) == true
        }
        precondition(status == 0, "\(status)")
      }
      exit(0)
    }
  }
}

// SAFETY: a pthread_t is a number that any thread may use while the thread lives.
private struct ThreadID: @unchecked Sendable {
  let value: pthread_t
}

/// The numbers of the process's open descriptors.
private func openDescriptors() -> Set<CInt> {
  var open: Set<CInt> = []
  for descriptor in 0..<1_024 as Range<CInt> where fcntl(descriptor, F_GETFD) >= 0 {
    open.insert(descriptor)
  }
  return open
}

/// Whether a descriptor is of a kind that can be read at all: an epoll set is not.
private func isReadable(_ descriptor: CInt) -> Bool {
  read(descriptor, nil, 0) >= 0 || errno != EINVAL
}

/// A listening socket, and clients that wait for it.
private func listenerWithClients(_ count: Int) -> (listener: CInt, clients: [CInt]) {
  let kind = CInt(SOCK_STREAM.rawValue)
  let listener = socket(AF_INET, kind, 0)
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
  var size = socklen_t(MemoryLayout<sockaddr_in>.size)
  unsafe withUnsafeMutablePointer(to: &address) { pointer in
    unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
      let isBound = unsafe bind(listener, address, size) == 0
      precondition(isBound && listen(listener, 10) == 0)
      _ = unsafe getsockname(listener, address, &size)
    }
  }
  let clients = (0..<count).map { _ in
    let client = socket(AF_INET, kind, 0)
    unsafe withUnsafeMutablePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        let code = unsafe connect(client, address, size)
        precondition(code == 0)
      }
    }
    return client
  }
  _ = fcntl(listener, F_SETFL, O_NONBLOCK)
  return (listener, clients)
}
