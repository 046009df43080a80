import BenchmarkSupport

/// Locks in C or C++, from plug-ins: see Benchmarks/native/threading_rival.h.
enum NativeLocks {
  /// The locks of the plug-ins in a folder.
  ///
  /// - Returns: Them, and what was found and could not be used, for people. A plug-in without locks is
  ///   nothing of that kind.
  static func all(in folder: String) -> (entrants: [Entrant], problems: [String]) {
    var entrants: [Entrant] = []
    var problems: [String] = []
    for path in PlugIn.paths(in: folder) {
      do throws(PlugIn.Refusal) {
        entrants += try locks(of: try PlugIn(path))
      } catch {
        problems.append("\(path): \(error.reason)")
      }
    }
    return (entrants, problems)
  }

  private typealias Make = @convention(c) (Int32) -> UnsafeMutableRawPointer?
  private typealias Step = @convention(c) (UnsafeMutableRawPointer) -> Void
  private typealias Steps = @convention(c) (Int32) -> Step?

  private static func locks(of plugIn: PlugIn) throws(PlugIn.Refusal) -> [Entrant] {
    let counting = "threading_rival_lock_count"
    guard plugIn.has(counting) else { return [] }
    let name = try plugIn.names("threading_rival_lock_name")
    let make = unsafe try plugIn.symbol("threading_rival_lock_make", as: Make.self)
    let take = unsafe try plugIn.symbol("threading_rival_lock_take", as: Steps.self)
    let give = unsafe try plugIn.symbol("threading_rival_lock_give", as: Steps.self)
    let end = unsafe try plugIn.symbol("threading_rival_lock_end", as: Steps.self)
    var entrants: [Entrant] = []
    for number in 0..<(try plugIn.number(counting)) {
      guard let name = name(number), let take = unsafe take(number), let give = unsafe give(number),
        let end = unsafe end(number)
      else { throw PlugIn.Refusal(reason: "its lock \(number) lacks a name or a function") }
      entrants.append(
        Entrant(name, "from a plug-in") {
          guard let object = unsafe make(number) else {
            preconditionFailure("lock-contention: the plug-in made no \(name)")
          }
          return unsafe NativeLock(object, take: take, give: give, end: end)
        })
    }
    return entrants
  }
}

/// A lock of a plug-in.
// SAFETY of @safe and @unchecked: the object is valid from init to deinit, and the plug-in's functions
// may be called on it from any thread.
@safe
private final class NativeLock: ContendedLock, @unchecked Sendable {
  typealias Step = @convention(c) (UnsafeMutableRawPointer) -> Void

  private let object: UnsafeMutableRawPointer
  private let take: Step
  private let give: Step
  private let end: Step

  init(
    _ object: UnsafeMutableRawPointer, take: @escaping Step, give: @escaping Step,
    end: @escaping Step
  ) {
    unsafe self.object = object
    unsafe self.take = take
    unsafe self.give = give
    unsafe self.end = end
  }

  deinit { unsafe end(object) }

  @inline(__always)
  func withLock(_ body: () -> Void) {
    unsafe take(object)
    body()
    unsafe give(object)
  }
}
