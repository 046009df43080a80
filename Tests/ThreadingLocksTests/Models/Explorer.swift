/// What the exploration of a model found.
enum Verdict: CustomStringConvertible {
  /// Every state keeps the rules, and from every state the end can be reached.
  case sound(states: Int)
  /// A rule is broken in the last of these states.
  case violated(rule: String, trace: [String])
  /// From the last of these states the end can no longer be reached: a deadlock or a lost wake.
  case stuck(trace: [String])

  var isSound: Bool {
    if case .sound = self { return true }
    return false
  }

  var isStuck: Bool {
    if case .stuck = self { return true }
    return false
  }

  var isViolated: Bool {
    if case .violated = self { return true }
    return false
  }

  var description: String {
    switch self {
    case .sound(let states): "sound in \(states) states"
    case .violated(let rule, let trace): "broken: \(rule)\n" + trace.joined(separator: "\n")
    case .stuck(let trace): "stuck\n" + trace.joined(separator: "\n")
    }
  }
}

/// A state machine of several threads: one state, and every state that a single step of any thread
/// may lead to.
protocol Model: Hashable {
  /// The states that one step of one thread leads to.
  func successors() -> [Self]
  /// The rule that this state breaks, if any.
  var brokenRule: String? { get }
  /// Whether all threads have done what they had to do.
  var isEnd: Bool { get }
}

/// Visits every state that can be reached, breadth first, so that the trace to a fault is as short
/// as can be.
func explore<State: Model>(_ initial: State) -> Verdict {
  var states = [initial]
  var numbers = [initial: 0]
  var parents = [0]
  var predecessors: [[Int]] = [[]]
  var next = 0

  func trace(to number: Int) -> [String] {
    var path = [number]
    while let last = path.last, last != 0 { path.append(parents[last]) }
    return path.reversed().map { "\(states[$0])" }
  }

  while next < states.count {
    if let rule = states[next].brokenRule { return .violated(rule: rule, trace: trace(to: next)) }
    for state in states[next].successors() {
      if let known = numbers[state] {
        predecessors[known].append(next)
        continue
      }
      numbers[state] = states.count
      states.append(state)
      parents.append(next)
      predecessors.append([next])
    }
    next += 1
  }

  // Backwards from the ends: what is not reached this way is stuck.
  var canEnd = [Bool](repeating: false, count: states.count)
  var open = states.indices.filter { states[$0].isEnd }
  for number in open { canEnd[number] = true }
  while let number = open.popLast() {
    for predecessor in predecessors[number] where !canEnd[predecessor] {
      canEnd[predecessor] = true
      open.append(predecessor)
    }
  }
  if let number = canEnd.firstIndex(of: false) { return .stuck(trace: trace(to: number)) }
  return .sound(states: states.count)
}
