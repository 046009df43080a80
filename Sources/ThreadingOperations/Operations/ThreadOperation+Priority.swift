extension ThreadOperation {
  /// Which of the operations that are ready a queue starts first.
  ///
  /// Among operations of one priority, the one that has been ready longest goes first. A priority
  /// orders operations within one queue and changes nothing about the threads that run them.
  public enum Priority: UInt8, Comparable, CaseIterable, Sendable {
    /// After everything else.
    case veryLow = 0
    /// After operations of normal priority.
    case low = 1
    /// What operations have unless told otherwise.
    case normal = 2
    /// Before operations of normal priority.
    case high = 3
    /// Before everything else.
    case veryHigh = 4

    /// Whether one priority is lower than another.
    public static func < (left: Priority, right: Priority) -> Bool {
      left.rawValue < right.rawValue
    }
  }
}
