import Glibc
import Threading

/// Something that the program has made and will not leave behind: a folder for what is needed meanwhile, a
/// file that is not whole yet.
///
/// It is removed once: by ``remove()``, with the object, or when a signal ends the program.
final class Leftover: Sendable {
  private let number: Int

  /// Watches over something that is made next, so that there is no moment at which it would be left.
  ///
  /// - Parameter removal: removes it, or does nothing if it is not there.
  init(_ removal: @escaping @Sendable () -> Void) { number = Leftovers.add(removal) }

  /// Removes it now.
  func remove() { Leftovers.take(number)?() }

  /// It stays: it is what the program was to make.
  func keep() { _ = Leftovers.take(number) }

  deinit { remove() }
}

/// All that is to be removed, and the watch for the signals that end the program, which is there as long as
/// anything is.
private enum Leftovers {
  private struct State {
    var next = 0
    var removals: [Int: @Sendable () -> Void] = [:]
    var watch: EndingWatch?
  }

  private static let state = Locked(State())

  static func add(_ removal: @escaping @Sendable () -> Void) -> Int {
    state.withLock { state in
      state.next += 1
      state.removals[state.next] = removal
      // Without a thread for it, what a signal leaves is left: no reason to do nothing at all.
      if state.watch == nil { state.watch = try? EndingWatch { removeAll() } }
      return state.next
    }
  }

  static func take(_ number: Int) -> (@Sendable () -> Void)? {
    let (removal, idle) = state.withLock { state in
      let removal = state.removals.removeValue(forKey: number)
      guard state.removals.isEmpty else { return (removal, EndingWatch?.none) }
      defer { state.watch = nil }
      return (removal, state.watch)
    }
    idle?.end()
    return removal
  }

  private static func removeAll() {
    let removals = state.withLock { state in
      defer { state.removals = [:] }
      return state.removals.values.map { $0 }
    }
    for removal in removals { removal() }
  }
}

/// Waits for a signal that ends the program, and has something done first.
private final class EndingWatch: Sendable {
  private let thread: LoopChapter.LoopThread

  /// - Throws: `ThreadingError` if the system refuses the thread or a descriptor.
  init(_ body: @escaping @Sendable () -> Void) throws {
    thread = try LoopChapter.LoopThread(name: "leftovers")
    do {
      for signal in [SIGINT, SIGTERM, SIGHUP] where !Self.isIgnored(signal) {
        try thread.loop.add(
          SignalSource(signal) { _, _ in
            body()
            Self.end(by: signal)
          })
      }
    } catch {
      try thread.end()
      throw error
    }
  }

  /// Ends the watch: the thread's end lets its sources go, and the signals do again what they did before.
  func end() { try? thread.end() }

  /// Whoever started the program wants it not to end by this signal, as `nohup` does.
  private static func isIgnored(_ signal: CInt) -> Bool {
    var action = sigaction()
    guard unsafe sigaction(signal, nil, &action) == 0 else { return false }
    let handler = unsafe action.__sigaction_handler.sa_handler
    return unsafe unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
  }

  /// Ends the process as the signal would have.
  private static func end(by signal: CInt) {
    _ = Glibc.signal(signal, SIG_DFL)
    var signals = sigset_t()
    unsafe sigemptyset(&signals)
    unsafe sigaddset(&signals, signal)
    unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    raise(signal)
  }
}
