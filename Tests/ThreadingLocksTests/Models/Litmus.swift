/// A few straight steps of some threads, explored in every order that the weakest machines may make of
/// them: steps of one thread that nothing holds in order change places.
///
/// What one thread writes is seen by all others at once, as on all machines of today; what their own
/// steps overtake is theirs alone.
struct Litmus {
  enum Order {
    case relaxed, acquiring, releasing, acquiringAndReleasing, sequentiallyConsistent

    var acquires: Bool { self != .relaxed && self != .releasing }
    var releases: Bool { self != .relaxed && self != .acquiring }
  }

  /// Reads, changes or writes a cell.
  struct Step {
    enum Kind { case load, store, change }

    let kind: Kind
    let cell: String
    let order: Order
    /// What is written, from what is read; nil to write nothing.
    let write: (Int) -> Int?
    /// Where what is read is kept.
    let register: String?
    /// Whether the step is made at all: it then waits for what it looks at, and for all before it if
    /// it writes.
    let condition: (register: String, holds: (Int) -> Bool)?

    static func load(
      _ cell: String, _ order: Order, into register: String
    ) -> Step {
      Step(
        kind: .load, cell: cell, order: order, write: { _ in nil }, register: register,
        condition: nil)
    }

    static func store(_ value: Int, _ cell: String, _ order: Order) -> Step {
      Step(
        kind: .store, cell: cell, order: order, write: { _ in value }, register: nil,
        condition: nil)
    }

    static func change(
      _ cell: String, _ order: Order, into register: String? = nil,
      when condition: (register: String, holds: (Int) -> Bool)? = nil,
      _ write: @escaping (Int) -> Int
    ) -> Step {
      Step(
        kind: .change, cell: cell, order: order, write: { write($0) }, register: register,
        condition: condition)
    }
  }

  struct State: Hashable {
    var cells: [String: Int] = [:]
    var registers: [String: Int] = [:]
    var done: [Set<Int>]
  }

  let threads: [[Step]]
  /// What the cells hold at first; 0 where it is not given.
  var cells: [String: Int] = [:]

  /// All ends that there can be: what the cells and the registers hold then.
  func ends() -> [State] {
    let start = State(cells: cells, done: threads.map { _ in [] })
    var known: Set<State> = [start]
    var open = [start]
    var ends: [State] = []
    while let state = open.popLast() {
      var isEnd = true
      for thread in threads.indices {
        for index in threads[thread].indices where isNext(index, of: thread, in: state) {
          isEnd = false
          let next = making(threads[thread][index], index, of: thread, in: state)
          if known.insert(next).inserted { open.append(next) }
        }
      }
      if isEnd { ends.append(state) }
    }
    return ends
  }

  private func isNext(_ index: Int, of thread: Int, in state: State) -> Bool {
    guard !state.done[thread].contains(index) else { return false }
    return (0..<index).allSatisfy { earlier in
      state.done[thread].contains(earlier)
        || !holdsBack(threads[thread][earlier], threads[thread][index])
    }
  }

  /// Whether the later of two steps of one thread must wait for the earlier.
  private func holdsBack(_ earlier: Step, _ later: Step) -> Bool {
    if earlier.cell == later.cell { return true }
    if let register = later.condition?.register, register == earlier.register { return true }
    // No write goes before it is known that it is made.
    if earlier.condition != nil && later.kind != .load { return true }
    if earlier.order.acquires && earlier.kind != .store { return true }
    if later.order.releases && later.kind != .load { return true }
    return earlier.order == .sequentiallyConsistent && later.order == .sequentiallyConsistent
  }

  private func making(_ step: Step, _ index: Int, of thread: Int, in state: State) -> State {
    var next = state
    next.done[thread].insert(index)
    if let condition = step.condition, !condition.holds(state.registers[condition.register] ?? 0) {
      return next
    }
    let seen = state.cells[step.cell] ?? 0
    if let register = step.register { next.registers[register] = seen }
    if let written = step.write(seen) { next.cells[step.cell] = written }
    return next
  }
}
