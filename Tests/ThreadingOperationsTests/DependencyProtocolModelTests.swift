import TestSupport
import Testing

/// The protocol of holds, edges, cancelling and withdrawing, as a model whose every interleaving is tried.
///
/// An operation comes to depend on two others. Actors take one step at a time, in every order: one adds the
/// operation to a queue; two add a dependency each; two finish a dependency each, or never do; one cancels
/// the operation, or does not; one drains the queue. A step is what the real code does under one lock or in
/// one atomic instruction.
@Suite("Model of dependencies", .endsInTime)
struct DependencyProtocolModelTests {
  enum Phase: Hashable { case pending, adding, waiting, ready, executing, finished }

  struct Dependency: Hashable {
    /// The edge in the operation's list.
    var hasEdge = false
    /// Whether the edge is in the dependency's ring.
    var isLinked = false
    var isClosed = false
    var hasFinished = false
    /// Whether the operation has been told to wait for it, and not to wait no longer.
    var stands = false
    /// The next step of the actor that adds it, and of the one that finishes it.
    var linker = 0
    var finisher = 0
  }

  struct World: Hashable {
    var phase = Phase.pending
    var holds = 1
    var isCancelled = false
    var dependencies = [Dependency(), Dependency()]
    /// Calls of `admit` that are under way: each was begun by a step to 0.
    var admissions = 0
    /// How often the list of ready operations holds it.
    var listed = 0
    var ran = 0
    var skipped = 0
    var ranEarly = false

    /// The next step of each actor.
    var adder = 0
    var canceller = 0
    /// The dependency that the cancellation lets go of next.
    var detaching: Int?
  }

  /// What is taken out of the real protocol, to see that the model notices.
  enum Flaw: CaseIterable {
    case none
    /// `admit` does not look at the holds again under the queue's lock.
    case admitsBlindly
    /// A hold is added to 0 without withdrawing the operation from the ready list.
    case holdsWithoutWithdrawing
    /// A dependency is linked to an operation that takes in none any more.
    case linksToClosed
    /// A cancelled operation keeps its edges.
    case keepsEdgesWhenCancelled
  }

  private func successors(of world: World, _ flaw: Flaw) -> [World] {
    var next: [World] = []
    func step(_ body: (inout World) -> Void) {
      var changed = world
      body(&changed)
      next.append(changed)
    }

    func drop(_ world: inout World) {
      world.holds -= 1
      if world.holds == 0 { world.admissions += 1 }
    }

    // The adder: claims, then enrols under the queue's lock.
    switch world.adder {
    case 0 where world.phase == .pending:
      step {
        $0.adder = 1
        $0.phase = .adding
      }
    case 1:
      step {
        $0.adder = 2
        $0.holds -= 1
        if $0.holds == 0 {
          $0.phase = .ready
          $0.listed += 1
        } else {
          $0.phase = .waiting
        }
      }
    default: break
    }

    for index in world.dependencies.indices {
      // The linker: one step under both operations' locks (and the queue's, to withdraw).
      if world.dependencies[index].linker == 0 {
        step { world in
          world.dependencies[index].linker = 1
          guard world.phase != .executing, world.phase != .finished, !world.isCancelled
          else { return }
          if world.dependencies[index].isClosed, flaw != .linksToClosed { return }
          if world.holds > 0 {
            world.holds += 1
          } else if flaw == .holdsWithoutWithdrawing {
            world.holds = 1
          } else {
            if world.phase == .ready {
              world.listed -= 1
              world.phase = .waiting
            }
            world.holds = 1
          }
          world.dependencies[index].hasEdge = true
          world.dependencies[index].isLinked = true
          world.dependencies[index].stands = true
        }
      }

      // The finisher: closes, then takes the ring under the lock.
      switch world.dependencies[index].finisher {
      case 0:
        step {
          $0.dependencies[index].finisher = 1
          $0.dependencies[index].isClosed = true
        }
      case 1:
        step { world in
          world.dependencies[index].finisher = 2
          world.dependencies[index].hasFinished = true
          if world.dependencies[index].isLinked {
            world.dependencies[index].isLinked = false
            drop(&world)
          }
        }
      default: break
      }
    }

    // The canceller: sets the flag, then lets go of one edge after another.
    if let index = world.detaching {
      step { world in
        world.detaching = index + 1 < world.dependencies.count ? index + 1 : nil
        guard world.dependencies[index].hasEdge else { return }
        world.dependencies[index].hasEdge = false
        world.dependencies[index].stands = false
        if world.dependencies[index].isLinked {
          world.dependencies[index].isLinked = false
          drop(&world)
        }
      }
    } else if world.canceller == 0, world.phase != .finished {
      step {
        $0.canceller = 1
        $0.isCancelled = true
        if flaw != .keepsEdgesWhenCancelled, $0.phase != .executing { $0.detaching = 0 }
      }
    }

    // An admission that is under way comes to the queue's lock.
    if world.admissions > 0 {
      step { world in
        world.admissions -= 1
        if world.holds != 0 && flaw != .admitsBlindly { return }
        guard world.phase == .waiting else { return }
        world.phase = .ready
        world.listed += 1
      }
    }

    // The drain.
    if world.listed > 0 {
      step { world in
        world.listed -= 1
        world.phase = .executing
        if world.isCancelled {
          world.skipped += 1
        } else {
          world.ran += 1
          if world.dependencies.contains(where: { $0.stands && !$0.hasFinished }) {
            world.ranEarly = true
          }
        }
      }
    }
    if world.phase == .executing { step { $0.phase = .finished } }
    return next
  }

  /// Whether nothing goes on that must. Cancelling, and the beginning of a dependency's end, need not
  /// come; an operation that waits for a dependency that never ends is where it should be.
  private func isAtRest(_ world: World, _ next: [World]) -> Bool {
    let must = next.filter { later in
      later.canceller == world.canceller
        && !zip(later.dependencies, world.dependencies).contains {
          $0.finisher == 1 && $1.finisher == 0
        }
    }
    let waits = world.dependencies.contains { $0.stands && !$0.hasFinished }
    return must.isEmpty && !(waits && !world.isCancelled)
  }

  /// All states that can be reached, and what is wrong with them.
  private func explore(_ flaw: Flaw) -> (states: Int, faults: Set<String>) {
    var seen: Set<World> = [World()]
    var layer = [World()]
    var faults: Set<String> = []
    while !layer.isEmpty {
      var following: [World] = []
      for world in layer {
        if world.ran + world.skipped > 1 { faults.insert("ran twice") }
        if world.listed > 1 { faults.insert("listed twice") }
        if world.holds < 0 { faults.insert("negative holds") }
        if world.ranEarly { faults.insert("ran before its dependency") }
        let next = successors(of: world, flaw)
        if isAtRest(world, next), world.phase != .finished {
          faults.insert("stuck in \(world.phase)")
        }
        for state in next where seen.insert(state).inserted { following.append(state) }
      }
      layer = following
    }
    return (seen.count, faults)
  }

  @Test("In every interleaving it runs or is skipped once, in order, and is never stuck")
  func everyInterleaving() {
    let (states, faults) = explore(.none)
    #expect(states > 1_000)
    #expect(faults.isEmpty)
  }

  @Test("The model finds each flaw that is put in", arguments: Flaw.allCases.filter { $0 != .none })
  func flaws(_ flaw: Flaw) {
    #expect(!explore(flaw).faults.isEmpty)
  }
}
