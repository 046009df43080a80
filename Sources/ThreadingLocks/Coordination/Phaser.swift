public import ThreadingPlatform

/// A barrier whose parties come and go: phase after phase, it waits for all that are registered at
/// the time.
///
/// A party that is through with a phase arrives, and may wait for the others, go on with something
/// else, or leave for good. When all have arrived, the phase ends and the next one begins, with as
/// many parties as are registered then. Threads that are no party may wait for a phase to end, too.
///
/// - Note: Safe to use from any thread. What each party did before it arrived happens before the
///   return of every wait for that phase.
public final class Phaser: Sendable {
  private struct Interior {
    var parties: Int
    var missing: Int
    var phase = 0
    var meeting = Meeting()
    /// Phases whose parties have all arrived and whose action is to be run, or runs; oldest first.
    var ended: [(phase: Int, meeting: Meeting)] = []
    /// The kernel's id of the thread that runs the actions of those phases; 0 for none.
    var actor: UInt32 = 0
  }

  private let interior: Locked<Interior>
  private let action: (@Sendable (Int) -> Void)?
  private let label: String?

  /// A phaser in phase 0.
  ///
  /// - Parameters:
  ///   - parties: How many are registered to begin with, from 0. Any other number stops the
  ///     program.
  ///   - label: What messages about misuse call the phaser.
  ///   - action: What the last party to arrive runs at the end of each phase, with its number,
  ///     before those that wait for it go on. Actions are run one after another, in the order of the
  ///     phases: if that of an earlier phase still runs, its thread runs this one too. It may arrive
  ///     at the phaser; a wait there for a phase that has not ended with its action stops the program.
  public init(
    _ parties: Int = 0, label: String? = nil, action: (@Sendable (Int) -> Void)? = nil
  ) {
    self.label = label
    self.action = action
    interior = Locked(Interior(parties: parties, missing: parties))
    if parties < 0 { stop("made for \(parties) parties; 0 or more are allowed") }
  }

  /// The number of the present phase.
  public var phase: Int { interior.withLock { $0.phase } }

  /// How many parties are registered.
  public var parties: Int { interior.withLock { $0.parties } }

  /// How many of them have not arrived in the present phase.
  public var missing: Int { interior.withLock { $0.missing } }

  /// Registers parties, which the present phase waits for.
  ///
  /// - Parameter count: How many, from 1. Any other number stops the program.
  /// - Returns: The number of the phase.
  @discardableResult
  public func register(_ count: Int = 1) -> Int {
    if count < 1 { stop("asked to register \(count) parties; 1 or more are allowed") }
    return interior.withLock { interior in
      interior.parties += count
      interior.missing += count
      return interior.phase
    }
  }

  /// Arrives for one party, without waiting for the others.
  ///
  /// - Returns: The number of the phase, to wait for its end later.
  /// - Precondition: A registered party has not arrived yet. If all have, the program stops.
  @discardableResult
  public func arrive() -> Int { arrive(leaving: false).phase }

  /// Arrives for one party and takes it off the register.
  ///
  /// - Returns: The number of the phase.
  /// - Precondition: A registered party has not arrived yet. If all have, the program stops.
  @discardableResult
  public func arriveAndLeave() -> Int { arrive(leaving: true).phase }

  /// Arrives for one party and sleeps until all have arrived.
  ///
  /// - Returns: The number of the phase that has ended.
  /// - Precondition: A registered party has not arrived yet. If all have, the program stops.
  @available(*, noasync, message: "arriveAndWait blocks the calling thread")
  @discardableResult
  public func arriveAndWait() -> Int {
    let (phase, meeting) = arrive(leaving: false, waits: true)
    _ = meeting.wait(until: .distantFuture)
    return phase
  }

  /// Sleeps until a phase has ended. Costs a lock and no more when it has.
  ///
  /// - Parameter phase: The number of a phase, not beyond the present one: another stops the
  ///   program.
  @available(*, noasync, message: "wait blocks the calling thread")
  public func wait(forEndOf phase: Int) { _ = wait(forEndOf: phase, until: .distantFuture) }

  /// Sleeps until a phase has ended or a moment has come. Parties that are missing are not touched.
  ///
  /// - Parameters:
  ///   - phase: The number of a phase, not beyond the present one: another stops the program.
  ///   - deadline: When to give up.
  /// - Returns: Whether the phase has ended.
  @available(*, noasync, message: "wait blocks the calling thread")
  public func wait(forEndOf phase: Int, until deadline: MonotonicInstant) -> Bool {
    let meeting: Meeting? = interior.withLock { interior in
      if phase > interior.phase {
        stop("asked to wait for phase \(phase) during phase \(interior.phase)")
      }
      let meeting =
        phase == interior.phase
        ? interior.meeting : interior.ended.first { $0.phase == phase }?.meeting
      if meeting != nil { checkActor(interior) }
      return meeting
    }
    return meeting == nil || meeting?.wait(until: deadline) == true
  }

  /// Stops the program if the calling thread, which is to wait, runs an action: nobody else would go on.
  private func checkActor(_ interior: Interior) {
    if interior.actor == SystemThread.currentID {
      stop("waited for by the thread that runs its action")
    }
  }

  private func arrive(leaving: Bool, waits: Bool = false) -> (phase: Int, meeting: Meeting) {
    let isActive = action != nil
    let (phase, meeting, isLast) = interior.withLock { interior in
      if interior.missing == 0 { stop("one arrived of \(interior.parties) that all had arrived") }
      if waits { checkActor(interior) }
      let arrived = (interior.phase, interior.meeting)
      interior.missing -= 1
      if leaving { interior.parties -= 1 }
      guard interior.missing == 0 else { return (arrived.0, arrived.1, false) }
      interior.missing = interior.parties
      interior.phase += 1
      interior.meeting = Meeting()
      guard isActive else { return (arrived.0, arrived.1, true) }
      interior.ended.append((arrived.0, arrived.1))
      guard interior.actor == 0 else { return (arrived.0, arrived.1, false) }
      interior.actor = SystemThread.currentID
      return (arrived.0, arrived.1, true)
    }
    if isLast {
      if let action { runActions(action) } else { meeting.end(passed: true) }
    }
    return (phase, meeting)
  }

  /// For the thread that has become the `actor`.
  private func runActions(_ action: (Int) -> Void) {
    var next = interior.withLock { $0.ended.first }
    while let (phase, meeting) = next {
      action(phase)
      next = interior.withLock { interior in
        interior.ended.removeFirst()
        if interior.ended.isEmpty { interior.actor = 0 }
        return interior.ended.first
      }
      meeting.end(passed: true)
    }
  }

  private func stop(_ what: String) -> Never {
    fatalError("\(Misuse.name("Phaser", label)): \(what)")
  }
}
