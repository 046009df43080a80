import Glibc
import Threading

/// Something that the program has made and will not leave behind: a folder for what is needed meanwhile, a
/// file that is not whole yet.
///
/// It is removed once: by ``remove()``, with the object, or when a signal ends the program.
final class Leftover: Sendable {
  private let number: Int
  private let removal: @Sendable () -> Void
  private let isSettled = AtomicFlag()

  /// Makes something, and watches over it.
  ///
  /// - Parameters:
  ///   - removal: removes it, or does nothing if it is not there.
  ///   - making: makes it.
  /// - Throws: what `making` throws; then there is nothing to remove.
  init<Failure: Error>(
    removal: @escaping @Sendable () -> Void, making: () throws(Failure) -> Void
  ) throws(Failure) {
    self.removal = removal
    number = try Leftovers.add(removal, making)
  }

  /// Removes it now. Until it is gone, it is watched over.
  func remove() {
    if isSettled.testAndSet() { return }
    removal()
    Leftovers.forget(number)
  }

  /// It stays: it is what the program was to make.
  func keep() {
    if !isSettled.testAndSet() { Leftovers.forget(number) }
  }

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

  /// The lock is held while it is made: it is there when a signal has all removed, or is not made any more.
  static func add<Failure: Error>(
    _ removal: @escaping @Sendable () -> Void, _ making: () throws(Failure) -> Void
  ) throws(Failure) -> Int {
    let result = state.withLock { state -> Result<Int, Failure> in
      // Without a thread for it, what a signal leaves is left: no reason to do nothing at all.
      if state.watch == nil { state.watch = try? EndingWatch { removeAll(thenEnding: $0) } }
      do throws(Failure) { try making() } catch { return .failure(error) }
      state.next += 1
      state.removals[state.next] = removal
      return .success(state.next)
    }
    return try result.get()
  }

  static func forget(_ number: Int) {
    let idle = state.withLock { state -> EndingWatch? in
      state.removals[number] = nil
      guard state.removals.isEmpty else { return nil }
      defer { state.watch = nil }
      return state.watch
    }
    idle?.end()
  }

  private static func removeAll(thenEnding end: () -> Void) {
    // Nobody makes or keeps anything any more.
    state.withLock { state in
      for removal in state.removals.values { removal() }
      end()
    }
  }
}

/// Waits for a signal that ends the program, and has something done first.
private final class EndingWatch: Sendable {
  private let thread: LoopChapter.LoopThread

  /// - Parameter body: what is done first; it then calls the function that it is given, which ends the
  ///   process.
  /// - Throws: `ThreadingError` if the system refuses the thread or a descriptor.
  init(_ body: @escaping @Sendable (_ end: () -> Void) -> Void) throws {
    thread = try LoopChapter.LoopThread(name: "leftovers")
    do {
      for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] where !Self.isIgnored(signal) {
        try thread.loop.add(
          SignalSource(signal) { _, _ in
            body { Self.end(by: signal) }
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
