import Glibc
import Synchronization

private let deliveries = Atomic(0)

/// A signal that does nothing but interrupt system calls, for tests of code that must bear it.
public enum HarmlessSignal {
  private static let number = SIGUSR2

  /// How often it was handled in this process so far.
  public static var count: Int { deliveries.load(ordering: .relaxed) }

  /// Has the calling thread take the signal: a thread that a test starts is born with the mask of
  /// the test's own thread, which blocks signals.
  ///
  /// - Returns: A function by which another thread sends the signal to this one. The thread must be
  ///   alive.
  public static func accept() -> @Sendable () -> Void {
    var action = sigaction()
    unsafe action.__sigaction_handler.sa_handler = { _ in
      deliveries.wrappingAdd(1, ordering: .relaxed)
    }
    // No SA_RESTART: the interrupted call says so.
    let installed = unsafe sigaction(number, &action, nil)
    var mask = sigset_t()
    _ = unsafe sigemptyset(&mask)
    _ = unsafe sigaddset(&mask, number)
    let unblocked = unsafe pthread_sigmask(SIG_UNBLOCK, &mask, nil)
    precondition(installed == 0 && unblocked == 0, "HarmlessSignal: the system refused the signal")
    let thread = ThreadNumber(value: pthread_self())
    return { _ = pthread_kill(thread.value, number) }
  }
}

// SAFETY: a pthread_t is a number that any thread may use while the thread lives.
private struct ThreadNumber: @unchecked Sendable {
  let value: pthread_t
}
