import TestSupport
import Testing

/// How threads of a pool fall asleep, are woken and end after their idle timeout, as a model of which every
/// course is tried. A step is what the real code does under the pool's lock or in one atomic instruction.
@Suite("Model of idle threads", .endsInTime)
struct IdleProtocolModelTests {
  /// What is taken out of the real protocol, to see that the model notices.
  enum Flaw: CaseIterable {
    case none
    /// A thread whose time is over ends without leaving the list of those that sleep.
    case endsOnTheList
    /// A thread whose time is over, but which somebody is about to wake, does not wait for that.
    case doesNotWaitForItsWaker
    /// A waker looks whether the thread sleeps and then writes, in two steps.
    case wakesOnlySleepers
  }

  enum Place: Hashable {
    case looking
    /// On its way to wake another, and then to its work.
    case waking(Int)
    case fallingAsleep, asleep
    case timeIsOver
    /// Off the list, waits for its waker; or on the list, for good.
    case fallingAsleepForGood, asleepForGood
    case ended
  }

  struct World: Hashable {
    /// 0 awake, 1 woken, 2 asleep, as in `PoolWorker`.
    var words = [0, 0]
    var places = [Place.looking, .looking]
    var idle: [Int] = []
    var requests = 0
    /// How many requests are to come, and whom the requester is about to wake.
    var toCome = 3
    var toWake: Int?
    var sawAsleep: Bool?
  }

  private static let minimum = 1

  private func successors(of world: World, _ flaw: Flaw) -> [World] {
    var next: [World] = []
    func step(_ body: (inout World) -> Void) {
      var changed = world
      body(&changed)
      next.append(changed)
    }

    // The requester.
    if let sleeper = world.toWake {
      if flaw == .wakesOnlySleepers {
        step { world in
          guard let sawAsleep = world.sawAsleep else {
            world.sawAsleep = world.words[sleeper] == 2
            return
          }
          if sawAsleep { world.words[sleeper] = 1 }
          world.sawAsleep = nil
          world.toWake = nil
        }
      } else {
        step { world in
          world.words[sleeper] = 1
          world.toWake = nil
        }
      }
    } else if world.toCome > 0 {
      step { world in
        world.toCome -= 1
        world.requests += 1
        if let sleeper = world.idle.popLast() {
          world.toWake = sleeper
        } else if let place = world.places.firstIndex(of: .ended) {
          world.places[place] = .looking
          world.words[place] = 0
        }
      }
    }

    for index in world.places.indices {
      switch world.places[index] {
      case .looking:
        step { world in
          guard world.requests > 0 else {
            world.idle.append(index)
            world.places[index] = .fallingAsleep
            return
          }
          world.requests -= 1
          if world.requests > 0, let sleeper = world.idle.popLast() {
            world.places[index] = .waking(sleeper)
          }
        }
      case .waking(let sleeper):
        step { world in
          world.words[sleeper] = 1
          world.places[index] = .looking
        }
      case .fallingAsleep, .fallingAsleepForGood:
        step { world in
          if world.words[index] == 0 {
            world.words[index] = 2
            world.places[index] =
              world.places[index] == .fallingAsleep ? .asleep : .asleepForGood
          } else {
            world.words[index] = 0
            world.places[index] = .looking
          }
        }
      case .asleep, .asleepForGood:
        if world.words[index] == 1 {
          step { world in
            world.words[index] = 0
            world.places[index] = .looking
          }
        }
        if world.places[index] == .asleep {
          step { world in
            let wasWoken = world.words[index] == 1
            world.words[index] = 0
            world.places[index] = wasWoken ? .looking : .timeIsOver
          }
        }
      case .timeIsOver:
        step { world in
          guard let place = world.idle.firstIndex(of: index) else {
            world.places[index] =
              flaw == .doesNotWaitForItsWaker ? .looking : .fallingAsleepForGood
            return
          }
          if flaw != .endsOnTheList { world.idle.remove(at: place) }
          if world.places.count(where: { $0 != .ended }) > Self.minimum {
            world.places[index] = .ended
          } else {
            if flaw != .endsOnTheList { world.idle.append(index) }
            world.places[index] = .fallingAsleepForGood
          }
        }
      case .ended: break
      }
    }
    return next
  }

  private func isSound(_ flaw: Flaw) -> Bool {
    var known: Set<World> = [World()]
    var open = [World()]
    while let world = open.popLast() {
      if Set(world.idle).count != world.idle.count { return false }
      if world.idle.contains(where: { world.places[$0] == .ended }) { return false }
      let next = successors(of: world, flaw)
      // All is quiet: nothing may be left to do, and some thread has to be there for what comes.
      if next.isEmpty, world.requests > 0 || world.places.allSatisfy({ $0 == .ended }) {
        return false
      }
      for world in next where known.insert(world).inserted { open.append(world) }
    }
    return true
  }

  @Test("In every course all requests are served, and the list holds each sleeper once")
  func sound() { #expect(isSound(.none)) }

  @Test("The model finds each flaw that is put in", arguments: Flaw.allCases.filter { $0 != .none })
  func finds(flaw: Flaw) { #expect(!isSound(flaw), "\(flaw) is not found") }
}
