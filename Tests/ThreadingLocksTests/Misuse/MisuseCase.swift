import TestSupport
import Testing
import ThreadingLocks
import ThreadingPlatform

/// One misuse of one kind of object.
struct MisuseCase: Sendable {
  let name: String
  /// Parts of the message, in this order. `<owner>` is how the thread of that name is called.
  let message: [String]
  /// Stops the program.
  let commit: @Sendable () throws -> Void

  init(_ name: String, _ message: [String], _ commit: @escaping @Sendable () throws -> Void) {
    self.name = name
    self.message = message
    self.commit = commit
  }

  static let all = mutexes + readWriteLocks + conditions + meetingPoints + posix

  static func named(_ name: String) -> MisuseCase { all.first { $0.name == name }! }
}

/// Runs `body` on a thread with a name, which first tells its id.
func on(_ name: String, _ body: @escaping @Sendable () throws -> Void) throws {
  try concurrently(1) { _ in tell(name, body) }
}

/// Has a thread with a name sleep in `body` and returns then.
func asleep(_ name: String, _ body: @escaping @Sendable () -> Void) throws {
  _ = try waiting { tell(name, body) }
}

private func tell(_ name: String, _ body: () throws -> Void) {
  do {
    try SystemThread.setCurrentName(name)
    report("\(name) is \(SystemThread.currentID)")
    try body()
  } catch {
    report("\(name) went wrong: \(error)")
  }
}

/// Ends an object that others still refer to, as code does that counts references by hand.
@safe
final class Overreleased<Object: AnyObject & Sendable>: @unchecked Sendable {
  // SAFETY: the process stops as soon as the object has ended.
  private let reference: Unmanaged<Object>

  init(_ object: Object) { unsafe reference = .passRetained(object) }

  func use<Result>(_ body: (Object) throws -> Result) rethrows -> Result {
    try unsafe reference._withUnsafeGuaranteedRef { try body($0) }
  }

  /// Gives up the references of calls that are going on, too; the process stops when the last is gone.
  func destroy() {
    for _ in 0..<16 { unsafe reference.release() }
  }
}
