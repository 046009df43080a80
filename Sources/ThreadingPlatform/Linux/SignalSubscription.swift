internal import CThreadingPlatform
internal import Glibc
internal import Synchronization

/// The deliveries of one signal to the process, counted by a descriptor that a ``Poller`` can watch:
/// the only code of the package that calls `sigaction(2)`.
///
/// While at least one subscription of a signal is there, its handler is the package's, which adds
/// to the descriptors of all subscriptions. The action that was in force before is put back when
/// the last one goes.
@safe
package final class SignalSubscription: Sendable {
  package let signal: CInt
  /// Becomes readable when the signal was delivered.
  package let descriptor: CInt
  private let hasEnded = Atomic<Bool>(false)
  // SAFETY of @safe, and here: the slot is handed to unsubscribe alone, by the one call of end()
  // that wins.
  private nonisolated(unsafe) let slot: OpaquePointer

  /// Subscribes to a signal.
  ///
  /// - Throws: EINVAL for a number that is no signal, or one that cannot be taken over: SIGKILL and
  ///   SIGSTOP never are delivered, and SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGTRAP are faults of
  ///   the running code, which a handler must not return to. EMFILE or ENFILE when descriptors have
  ///   run out, ENOMEM.
  package init(signal: CInt) throws(ThreadingError) {
    guard !Self.faults.contains(signal) else {
      throw ThreadingError(
        call: "sigaction", code: EINVAL,
        message: "signal \(signal) reports a fault of the running code; "
          + "it cannot be waited for")
    }
    let descriptor = ctp_eventfd(0)
    guard descriptor >= 0 else { throw .descriptorRefused("eventfd", -descriptor) }
    do {
      try Self.retainHandler(of: signal)
    } catch {
      close(descriptor)
      throw error
    }
    guard let slot = unsafe ctp_signal_subscribe(signal, descriptor) else {
      Self.releaseHandler(of: signal)
      close(descriptor)
      throw .refused("malloc", ENOMEM)
    }
    self.signal = signal
    self.descriptor = descriptor
    unsafe self.slot = slot
  }

  deinit {
    end()
    close(descriptor)
  }

  /// Ends the subscription; the descriptor stays valid, and what it has counted can still be taken.
  package func end() {
    // relaxed: only the uniqueness of the winner matters.
    guard !hasEnded.exchange(true, ordering: .relaxed) else { return }
    // The former action first: from then on a delivery is handled by it, and none is dropped.
    Self.releaseHandler(of: signal)
    unsafe ctp_signal_unsubscribe(slot)
  }

  /// Deliveries since the last call. The system merges deliveries of one signal that are still
  /// pending, so it may be less than the number of times it was sent.
  package func takeCount() -> Int {
    var count: UInt64 = 0
    let size = unsafe read(descriptor, &count, MemoryLayout<UInt64>.size)
    // EAGAIN: none. The eventfd is ours, so nothing else can go wrong but a handled signal, after
    // which the descriptor is still readable.
    return size == MemoryLayout<UInt64>.size ? Int(clamping: count) : 0
  }

  // MARK: -

  private static let faults: [CInt] = [SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP]

  /// Whether the handler of each signal is installed, for how many subscriptions, and the action
  /// before. Guarded by `registryLock`.
  // SAFETY: only touched between `lockRegistry` and `unlockRegistry`.
  private nonisolated(unsafe) static var handlers: [CInt: (users: Int, before: sigaction)] = [:]
  // State     | meaning                      | leaves by
  // free      | nobody is at the handlers    | withRegistry -> held
  // held      | somebody is                  | end of withRegistry -> free, another -> contended
  // contended | and others may sleep for it  | end of withRegistry -> free, and wakes one
  private static let registryLock = Atomic<UInt32>(0)
  private static var free: UInt32 { 0 }
  private static var held: UInt32 { 1 }
  private static var contended: UInt32 { 2 }

  private static func withRegistry<Failure: Error>(
    _ body: () throws(Failure) -> Void
  ) throws(Failure) {
    // A lock of its own, since this layer lies below the locks.
    // acquiring, here and below: pairs with the release at the end.
    if !registryLock.compareExchange(expected: free, desired: held, ordering: .acquiring).exchanged
    {
      while registryLock.exchange(contended, ordering: .acquiring) != free {
        _ = Futex.wait(registryLock, while: contended)
      }
    }
    defer {
      // releasing: pairs with the acquires above.
      if registryLock.exchange(free, ordering: .releasing) == contended {
        Futex.wake(registryLock, count: 1)
      }
    }
    try body()
  }

  private static func retainHandler(of signal: CInt) throws(ThreadingError) {
    try withRegistry { () throws(ThreadingError) in
      if let entry = unsafe handlers[signal] {
        unsafe handlers[signal] = (entry.users + 1, entry.before)
        return
      }
      var before = sigaction()
      let code = unsafe ctp_signal_install(signal, &before)
      guard code == 0 else {
        throw ThreadingError(
          call: "sigaction", code: code,
          message: "\(signal) is not a signal that a program can wait for")
      }
      unsafe handlers[signal] = (1, before)
    }
  }

  private static func releaseHandler(of signal: CInt) {
    withRegistry {
      guard var entry = unsafe handlers[signal] else { return }
      entry.users -= 1
      if entry.users > 0 {
        unsafe handlers[signal] = entry
      } else {
        unsafe handlers[signal] = nil
        _ = unsafe ctp_signal_restore(signal, &entry.before)
      }
    }
  }
}
