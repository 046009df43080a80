import Glibc
import Threading
import ThreadingPlatform

/// Measures on a thread of its own while the calling one waits, for the end or for a signal.
///
/// The C library takes short cuts in a process with a single thread, and no user of this package
/// has one.
package struct Measuring {
  private let interruption: Interruption
  private let signals: [CInt]
  private let patience: Duration

  /// - Parameters:
  ///   - interruption: What is requested at the first signal.
  ///   - signals: The signals that end it.
  ///   - patience: How long what is under way when a signal comes may still take.
  package init(
    interruption: Interruption, signals: [CInt] = [SIGINT, SIGTERM, SIGHUP],
    patience: Duration = .seconds(1)
  ) {
    self.interruption = interruption
    self.signals = signals
    self.patience = patience
  }

  /// Runs `body` on a new thread until it ends. At the first signal the interruption is requested,
  /// and `body` is to end soon; after the patience, or at a second signal, it is waited for no more.
  ///
  /// - Returns: whether `body` has ended.
  /// - Throws: what the system refused.
  package func run(_ body: @escaping @Sendable () -> Void) throws(ThreadingError) -> Bool {
    let loop = ThreadRunLoop.current
    let over = ExitFlag()
    let ended = AtomicFlag()
    var sources: [SignalSource] = []
    // What was in force before is so again.
    defer { for source in sources { source.cancel() } }
    for number in signals {
      let source = try SignalSource(number) { [interruption, patience] _, count in
        let isFirst = interruption.request(by: number)
        if !isFirst || count > 1 { over.set() }
        let timer = try? ThreadTimer(after: patience) { _ in over.set() }
        // Without one there is nothing to wait for the end with: do not wait.
        guard let timer, (try? loop.add(timer)) != nil else { return over.set() }
      }
      try loop.add(source)
      sources.append(source)
    }
    let thread = try SystemThread.start(.init()) {
      body()
      _ = ended.testAndSet()
      over.set()
    }
    loop.run(until: over)
    guard ended.isSet else { return false }
    thread.join()
    return true
  }
}
