import ThreadingFoundation

extension ThreadChapter {
  // snippet: families
  /// Adds up on a thread of either family.
  static func named<Family: ManagedThread<String, Never>>(_: Family.Type) throws -> String {
    let thread = try Family.start(ThreadAttributes(name: "adder")) {
      let sum = (1...100).reduce(0, +)
      return "\(ThreadHandle.current.name ?? "?"): \(sum)"
    }
    return try thread.join()
  }
  // end

  /// What the system says to a stack that is too small.
  static func refusal() -> ThreadingError? {
    // snippet: refusal
    do throws(ThreadingError) {
      _ = try PosixThread.start(ThreadAttributes(stackSize: 1_000)) { 42 }
      return nil
    } catch {
      return error
    }
    // end
  }
}
