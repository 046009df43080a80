internal import CThreadingPlatform
internal import Glibc
internal import Synchronization

/// Asks other threads of the process, by a signal, where they are.
package enum ThreadSampler {
  /// Where a thread was.
  package struct Sample: Sendable {
    package let stackPointer: UInt
    /// Return addresses, innermost first; the first is where the thread itself was.
    package let frames: [UInt]
  }

  /// Why a thread has not told.
  package enum Failure: Error, Hashable {
    /// It blocks the signal.
    case blocksSignal
    /// It did not handle the signal in time.
    case noAnswer
    /// There is no such thread now.
    case ended
    /// The system refused the signal or what is needed before it, with this `errno`.
    case refused(CInt)
    /// No real-time signal is left for this use.
    case noSignal
  }

  /// The signal that is used: the last real-time signal that nobody had a handler for when the first
  /// sample was taken. It is the sampler's from then on. nil when there is none.
  package static var signal: CInt? {
    // relaxed: the handler is asked of the kernel, which orders the rest.
    let known = chosenSignal.load(ordering: .relaxed)
    if known != 0 { return known }
    _ = enter(until: .distantFuture)
    defer { leave() }
    if chosenSignal.load(ordering: .relaxed) == 0, let free = installOnFreeSignal() {
      chosenSignal.store(free, ordering: .relaxed)
    }
    let chosen = chosenSignal.load(ordering: .relaxed)
    return chosen == 0 ? nil : chosen
  }

  /// 0 before one was found. Not a value that is made at its first use: a fork might come in between.
  private static let chosenSignal = Atomic<CInt>(0)

  private static func installOnFreeSignal() -> CInt? {
    let candidates = (__libc_current_sigrtmin()...__libc_current_sigrtmax()).reversed()
    guard let free = candidates.first(where: { ctp_signal_is_free($0) }),
      ctp_sample_install(free) == 0
    else { return nil }
    return free
  }

  /// See ``SystemProcess/makeValues()``.
  static func makeValues() {
    _ = chosenSignal.load(ordering: .relaxed)
    _ = busy.load(ordering: .relaxed)
  }

  /// Whether the callers of the place where a thread is can be told.
  package static var hasFrames: Bool { ctp_sample_has_frames() }

  // One sample at a time, in the order of arrival or not. A futex word of its own: the layer has no
  // locks, and a fork while another thread samples shall not lock the child out.
  // State                | meaning                               | leaves by
  // 0                    | nobody samples                        | take() -> fork generation + 1
  // fork generation + 1  | a thread of that process samples      | its end -> 0; a fork makes it void
  private static let busy = Atomic<UInt32>(0)

  /// Has a thread of the process other than the calling one tell where it is.
  ///
  /// - Parameters:
  ///   - thread: its kernel id.
  ///   - withFrames: whether it is to tell its callers as well.
  ///   - deadline: how long to wait for its answer.
  /// - Returns: what it told, or why it has not.
  package static func sample(
    _ thread: UInt32, withFrames: Bool, until deadline: MonotonicInstant
  ) -> Result<Sample, Failure> {
    guard let signal else { return .failure(.noSignal) }
    do throws(ThreadingError) {
      guard let blocked = try SystemTask.blockedSignals(of: thread) else { return .failure(.ended) }
      if blocked.contains(signal) { return .failure(.blocksSignal) }
    } catch {
      return .failure(.refused(error.code))
    }
    guard enter(until: deadline) else { return .failure(.noAnswer) }
    defer { leave() }
    var sample = ctp_sample()
    var limit = deadline.timespec
    let code = unsafe ctp_sample_take(
      thread, signal, withFrames && hasFrames, &limit, &sample)
    switch code {
    case 0:
      let count = Int(sample.count)
      let frames = unsafe withUnsafeBytes(of: &sample.frames) { bytes in
        (0..<count).map { index in
          unsafe bytes.load(fromByteOffset: index * MemoryLayout<UInt>.size, as: UInt.self)
        }
      }
      return .success(Sample(stackPointer: UInt(sample.stack_pointer), frames: frames))
    case ETIMEDOUT: return .failure(.noAnswer)
    case ESRCH: return .failure(.ended)
    default: return .failure(.refused(code))
    }
  }

  /// The callers of the calling thread, innermost first.
  package static func ownFrames() -> [UInt] {
    let capacity = Int(CTP_SAMPLE_FRAMES)
    var frames = [UInt](repeating: 0, count: capacity)
    let count = unsafe ctp_sample_own_frames(&frames, CInt(capacity))
    return Array(frames.prefix(Int(count)))
  }

  /// - Returns: false when the moment came first.
  private static func enter(until deadline: MonotonicInstant) -> Bool {
    let mine = ctp_get_fork_generation() + 1
    while true {
      let seen = busy.load(ordering: .relaxed)
      if seen == mine {
        if Futex.wait(busy, while: seen, until: deadline) == .timedOut { return false }
        continue
      }
      // acquiring: pairs with the release in `leave`: samples come one after another.
      if busy.compareExchange(expected: seen, desired: mine, ordering: .acquiring).exchanged {
        return true
      }
    }
  }

  private static func leave() {
    busy.store(0, ordering: .releasing)
    Futex.wakeAll(busy)
  }
}
