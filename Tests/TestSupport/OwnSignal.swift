import Synchronization

private let takenSignals = Atomic<CInt>(0)

/// Signals for tests that send some: what is done about a signal is the whole process's affair, and all
/// tests of a process run at the same time.
public enum OwnSignal {
  /// A real-time signal that no other test of this process uses. What a test does about other signals
  /// it does in a process of its own.
  public static func take() -> CInt {
    // The first that the C library leaves; the package itself takes one from the other end.
    let number = 34 + takenSignals.wrappingAdd(1, ordering: .relaxed).newValue
    precondition(number < 60, "OwnSignal: no signal is left")
    return number
  }
}
