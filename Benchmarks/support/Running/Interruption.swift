import Synchronization

/// A request to stop measuring, from a signal.
package final class Interruption: Sendable {
  // 0 until a signal came, then its number for good.
  private let signal = Atomic<CInt>(0)

  /// Nothing is asked for yet.
  package init() {}

  /// Asks to stop, for the first signal that came.
  ///
  /// - Returns: whether this was the first.
  @discardableResult
  package func request(by number: CInt) -> Bool {
    // relaxed: nothing is handed over but the number.
    signal.compareExchange(expected: 0, desired: number, ordering: .relaxed).exchanged
  }

  /// The signal that asked; nil as long as none did.
  package var requested: CInt? {
    // relaxed: as above.
    let number = signal.load(ordering: .relaxed)
    return number == 0 ? nil : number
  }
}
