import TestSupport
import Testing

/// Memory as the weakest machines have it: what a thread writes waits in the thread, and reaches the others
/// later; what was written to different cells, in any order.
struct WeakMemory: Hashable {
  struct Write: Hashable {
    let cell: Int
    let value: Int
    /// Whether it waits for all that was written before it.
    let isReleasing: Bool
  }

  private var cells: [Int]
  private var waiting: [[Write]]

  init(cells: Int, threads: Int) {
    self.cells = Array(repeating: 0, count: cells)
    waiting = Array(repeating: [], count: threads)
  }

  func load(_ cell: Int, by thread: Int) -> Int {
    waiting[thread].last { $0.cell == cell }?.value ?? cells[cell]
  }

  mutating func store(_ value: Int, in cell: Int, by thread: Int, isReleasing: Bool = false) {
    waiting[thread].append(Write(cell: cell, value: value, isReleasing: isReleasing))
  }

  /// Whether all that the thread has written has reached the others: then it may do a step that is
  /// sequentially consistent.
  func isSettled(_ thread: Int) -> Bool { waiting[thread].isEmpty }

  /// A store, or a part of an exchange, by a thread that is settled.
  mutating func storeNow(_ value: Int, in cell: Int) { cells[cell] = value }

  /// What memory may be after one more write has reached the others.
  var successors: [WeakMemory] {
    var next: [WeakMemory] = []
    for thread in waiting.indices {
      for (place, write) in waiting[thread].enumerated() {
        let before = waiting[thread][..<place]
        if write.isReleasing ? !before.isEmpty : before.contains(where: { $0.cell == write.cell }) {
          continue
        }
        var changed = self
        changed.waiting[thread].remove(at: place)
        changed.cells[write.cell] = write.value
        next.append(changed)
      }
    }
    return next
  }
}

/// The deque's protocol as a model of which every course is tried: every order of the threads' steps, and every
/// order in which their writes reach each other.
@Suite("Model of the deque of jobs", .endsInTime)
struct WorkDequeModelTests {
  /// What is taken out of the real protocol, to see that the model notices.
  enum Flaw: CaseIterable {
    case none
    /// The owner's step down is an ordinary store.
    case takesWithoutOrder
    /// The job's place is shown by an ordinary store.
    case addsWithoutRelease
    /// The owner takes the last job as any other.
    case takesLastBlindly
    /// A thief goes on without looking whether the job is still there.
    case stealsBlindly
    /// A thief looks first where the jobs end, and then where they begin.
    case looksAtTheEndFirst
    /// A larger ring is shown by an ordinary store.
    case growsWithoutRelease
    /// There is always room.
    case doesNotGrow
  }

  enum Call: Hashable { case add, take }

  private enum Cell {
    static let top = 0
    static let bottom = 1
    static let ring = 2
    /// Two places in the first ring, four in the second.
    static func slot(_ place: Int, ring: Int) -> Int {
      ring == 0 ? 3 + place % 2 : 5 + place % 4
    }
    static let count = 9
  }

  struct World: Hashable {
    var memory: WeakMemory
    /// The owner's calls that are to come, and the step of the first of them.
    var calls: [Call]
    var step = 0
    var seen = 0
    var added = 0
    /// How many copies a growth has still to make, from which place.
    var copied = 0
    var taken: [Int] = []
    var thieves: [Thief]

    struct Thief: Hashable {
      var attempts: Int
      var step = 0
      var top = 0
      var bottom = 0
      var ring = 0
      var job = 0
    }
  }

  private func successors(of world: World, _ flaw: Flaw) -> [World] {
    var next: [World] = []
    for memory in world.memory.successors {
      var changed = world
      changed.memory = memory
      next.append(changed)
    }
    if let call = world.calls.first {
      var changed = world
      if call == .add ? add(&changed, flaw) : take(&changed, flaw) { next.append(changed) }
    }
    for index in world.thieves.indices where world.thieves[index].attempts > 0 {
      var changed = world
      if steal(&changed, index, flaw) { next.append(changed) }
    }
    return next
  }

  private static let owner = 0

  /// One step of the owner's `add`; false if it has to wait for its writes to settle.
  private func add(_ world: inout World, _ flaw: Flaw) -> Bool {
    let owner = Self.owner
    let place = world.memory.load(Cell.bottom, by: owner)
    let ring = world.memory.load(Cell.ring, by: owner)
    switch world.step {
    case 0:
      world.seen = world.memory.load(Cell.top, by: owner)
      let isFull = ring == 0 && place - world.seen >= 2 && flaw != .doesNotGrow
      world.copied = world.seen
      world.step = isFull ? 1 : 3
    case 1:
      // A copy of one job into the larger ring.
      let job = world.memory.load(Cell.slot(world.copied, ring: 0), by: owner)
      world.memory.store(job, in: Cell.slot(world.copied, ring: 1), by: owner)
      world.copied += 1
      if world.copied == place { world.step = 2 }
    case 2:
      world.memory.store(
        1, in: Cell.ring, by: owner, isReleasing: flaw != .growsWithoutRelease)
      world.step = 3
    case 3:
      world.added += 1
      world.memory.store(world.added, in: Cell.slot(place, ring: ring), by: owner)
      world.step = 4
    default:
      if flaw == .addsWithoutRelease {
        world.memory.store(place + 1, in: Cell.bottom, by: owner)
      } else {
        world.memory.store(place + 1, in: Cell.bottom, by: owner, isReleasing: true)
      }
      end(&world)
    }
    return true
  }

  private func end(_ world: inout World) {
    world.calls.removeFirst()
    world.step = 0
  }

  private func take(_ world: inout World, _ flaw: Flaw) -> Bool {
    let owner = Self.owner
    let bottom = world.memory.load(Cell.bottom, by: owner)
    let ring = world.memory.load(Cell.ring, by: owner)
    switch world.step {
    case 0:
      if world.memory.load(Cell.top, by: owner) > bottom - 1 {
        end(&world)
      } else {
        world.step = 1
      }
    case 1:
      if flaw == .takesWithoutOrder {
        world.memory.store(bottom - 1, in: Cell.bottom, by: owner)
      } else {
        guard world.memory.isSettled(owner) else { return false }
        world.memory.storeNow(bottom - 1, in: Cell.bottom)
      }
      world.step = 2
    case 2:
      // `bottom` has been lowered: it is the place now.
      world.seen = world.memory.load(Cell.top, by: owner)
      if world.seen < bottom || (world.seen == bottom && flaw == .takesLastBlindly) {
        world.taken.append(world.memory.load(Cell.slot(bottom, ring: ring), by: owner))
        end(&world)
      } else {
        world.step = world.seen == bottom ? 3 : 4
      }
    case 3:
      guard world.memory.isSettled(owner) else { return false }
      if world.memory.load(Cell.top, by: owner) == world.seen {
        world.taken.append(world.memory.load(Cell.slot(bottom, ring: ring), by: owner))
        world.memory.storeNow(world.seen + 1, in: Cell.top)
      }
      world.step = 4
    default:
      world.memory.store(bottom + 1, in: Cell.bottom, by: owner)
      end(&world)
    }
    return true
  }

  private func steal(_ world: inout World, _ index: Int, _ flaw: Flaw) -> Bool {
    let thread = index + 1
    let memory = world.memory
    switch world.thieves[index].step {
    case 0:
      if flaw == .looksAtTheEndFirst {
        world.thieves[index].bottom = memory.load(Cell.bottom, by: thread)
      } else {
        world.thieves[index].top = memory.load(Cell.top, by: thread)
      }
      world.thieves[index].step = 1
    case 1:
      if flaw == .looksAtTheEndFirst {
        world.thieves[index].top = memory.load(Cell.top, by: thread)
      } else {
        world.thieves[index].bottom = memory.load(Cell.bottom, by: thread)
      }
      let isThere = world.thieves[index].top < world.thieves[index].bottom
      world.thieves[index].step = isThere ? 2 : 0
      if !isThere { world.thieves[index].attempts -= 1 }
    case 2:
      world.thieves[index].ring = memory.load(Cell.ring, by: thread)
      world.thieves[index].step = 3
    case 3:
      let cell = Cell.slot(world.thieves[index].top, ring: world.thieves[index].ring)
      world.thieves[index].job = memory.load(cell, by: thread)
      world.thieves[index].step = 4
    default:
      let top = world.thieves[index].top
      if flaw == .stealsBlindly || memory.load(Cell.top, by: thread) == top {
        world.taken.append(world.thieves[index].job)
        world.memory.storeNow(top + 1, in: Cell.top)
      }
      world.thieves[index].step = 0
      world.thieves[index].attempts -= 1
    }
    return true
  }

  /// Whether every course of the owner's calls, among thieves, has each job taken once or left there.
  private func isSound(_ calls: [Call], thieves: [Int], _ flaw: Flaw) -> Bool {
    let start = World(
      memory: WeakMemory(cells: Cell.count, threads: thieves.count + 1), calls: calls,
      thieves: thieves.map { World.Thief(attempts: $0) })
    var known: Set<World> = [start]
    var open = [start]
    while let world = open.popLast() {
      if Set(world.taken).count != world.taken.count || world.taken.contains(0) { return false }
      let next = successors(of: world, flaw)
      if next.isEmpty, !isComplete(world) { return false }
      for world in next where known.insert(world).inserted { open.append(world) }
    }
    return true
  }

  private func isComplete(_ world: World) -> Bool {
    let top = world.memory.load(Cell.top, by: Self.owner)
    let bottom = world.memory.load(Cell.bottom, by: Self.owner)
    let ring = world.memory.load(Cell.ring, by: Self.owner)
    let left =
      top < bottom
      ? (top..<bottom).map { place in
        world.memory.load(Cell.slot(place, ring: ring), by: Self.owner)
      } : []
    return (world.taken + left).sorted() == Array(1...world.added)
  }

  /// The last job, a longer one, places that are used again, and growth.
  private static let courses: [(calls: [Call], thieves: [Int])] = [
    ([.add, .take], [2]),
    ([.add, .take, .add, .take], [1, 1]),
    ([.add, .add, .take, .take], [1, 1]),
    ([.add, .add, .add], [1, 1]),
    ([.add, .add, .take, .add, .take], [2]),
    ([.add, .add, .add, .take], [1, 1]),
  ]

  @Test(
    "In every course each job is taken once, whatever reaches whom when", arguments: courses.indices
  )
  func sound(index: Int) {
    let course = Self.courses[index]
    #expect(isSound(course.calls, thieves: course.thieves, .none))
  }

  @Test("The model finds each flaw that is put in", arguments: Flaw.allCases.filter { $0 != .none })
  func finds(flaw: Flaw) {
    #expect(
      !Self.courses.allSatisfy { isSound($0.calls, thieves: $0.thieves, flaw) },
      "\(flaw) is not found")
  }
}

/// Who adds a job and who stops looking for jobs: one of the two sees the other.
@Suite("Model of the last look", .endsInTime)
struct LastLookModelTests {
  enum Flaw: CaseIterable {
    case none
    /// Each step is shown by an ordinary or a releasing store.
    case stepsWithoutOrder
    /// The drain ends without looking once more.
    case endsWithoutLooking
    /// The adder does not look whether the drain has ended.
    case addsWithoutLooking
  }

  /// The steps of both: a job is added and then drains are counted; a drain is uncounted and then jobs are looked
  /// for. Each is one store and one load.
  private func someoneSees(_ flaw: Flaw) -> Bool {
    struct World: Hashable {
      var memory = WeakMemory(cells: 2, threads: 2)
      var steps = [0, 0]
      var sees = [false, false]
    }
    // Cell 0: jobs. Cell 1: drains that have ended.
    var known: Set<World> = [World()]
    var open = [World()]
    while let world = open.popLast() {
      if world.steps == [2, 2], world.sees == [false, false] { return false }
      var next: [World] = world.memory.successors.map { memory in
        var changed = world
        changed.memory = memory
        return changed
      }
      for thread in 0..<2 where world.steps[thread] < 2 {
        var changed = world
        changed.steps[thread] += 1
        if world.steps[thread] == 0 {
          if flaw == .stepsWithoutOrder {
            changed.memory.store(1, in: thread, by: thread, isReleasing: true)
          } else {
            changed.memory.storeNow(1, in: thread)
          }
        } else {
          let looks = flaw != (thread == 0 ? .addsWithoutLooking : .endsWithoutLooking)
          changed.sees[thread] = looks && world.memory.load(1 - thread, by: thread) == 1
        }
        next.append(changed)
      }
      for world in next where known.insert(world).inserted { open.append(world) }
    }
    return true
  }

  @Test("A job that is added is seen by the drain that ends, or its adder sees the end")
  func sound() { #expect(someoneSees(.none)) }

  @Test("The model finds each flaw that is put in", arguments: Flaw.allCases.filter { $0 != .none })
  func finds(flaw: Flaw) { #expect(!someoneSees(flaw), "\(flaw) is not found") }
}
