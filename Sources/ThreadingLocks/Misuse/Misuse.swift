internal import ThreadingPlatform

/// The words of messages about misuse: they name the object and the threads.
enum Misuse {
  /// The type and the label, if there is one: `ConditionLock "stage"`.
  static func name(_ type: String, _ label: String?) -> String {
    label.map { "\(type) \"\($0)\"" } ?? type
  }

  /// A thread that holds a lock: `thread 7 "worker"`, or `nobody` for 0.
  static func holder(_ id: UInt32) -> String {
    id == 0 ? "nobody" : SystemThread.describe(id)
  }

  /// The calling thread.
  static var caller: String { SystemThread.describe(SystemThread.currentID) }

  /// Stops the program, which gives an object up that threads wait on.
  ///
  /// A call that waits holds a reference to the object, or borrows it. So this takes code that counts
  /// references by hand or keeps the object in memory of its own.
  ///
  /// - Parameters:
  ///   - name: Of the object.
  ///   - thread: The first that waits.
  static func stopDestroying(_ name: String, awaitedBy thread: UInt32) -> Never {
    fatalError("\(name): destroyed while \(SystemThread.describe(thread)) waits, by \(caller)")
  }

  /// The same, where only their number is known.
  static func stopDestroying(_ name: String, awaitedByCount count: Int) -> Never {
    fatalError("\(name): destroyed while \(count) threads wait, by \(caller)")
  }
}
