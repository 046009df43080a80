import TestSupport
import Testing
import Threading
import ThreadingPlatform

/// The wake protocol as a small machine, taken through every order of its steps. Each step is one
/// access to the word or the inbox, as in `WakeWord`, `Inbox` and the loop's pass.
struct WakeModel: Hashable {
  enum Word { case awake, asleep, notified }

  /// Where the loop is: what it does next.
  enum Loop {
    case beginPass, take, lookAtFlag, beginSleep, lookAtInbox, enterKernel, inKernel, ended
  }

  /// Where a thread is that posts, or that sets the stop flag.
  enum Other { case change, lookAtWord, exchange, wake, done }

  /// What is left out of the protocol, to see that the model finds it.
  enum Fault: CaseIterable {
    case none
    case noLookAtInboxAfterBeginSleep
    case sleepsThoughNotified
    case notifierOnlyLoads
    case noKernelCompare
  }

  var word = Word.awake
  var inbox = 0
  var served = 0
  var flag = false
  var loop = Loop.beginPass
  /// The posters, and the one that sets the flag, last.
  var others: [Other]
  var postsLeft: [Int]

  init(posters: Int, postsEach: Int, setsFlag: Bool) {
    others = Array(repeating: .change, count: posters + (setsFlag ? 1 : 0))
    postsLeft = Array(repeating: postsEach, count: posters) + (setsFlag ? [0] : [])
  }

  var isQuiet: Bool { others.allSatisfy { $0 == .done } }

  /// Whether the loop sleeps for ever though there is something for it to do.
  var hasLostAWake: Bool { isQuiet && loop == .inKernel && (inbox > 0 || flag) }

  /// All states that one step leads to.
  func next(_ fault: Fault) -> [WakeModel] {
    var states: [WakeModel] = []
    if let state = loopStep(fault) { states.append(state) }
    for index in others.indices where others[index] != .done {
      states.append(otherStep(index, fault))
    }
    return states
  }

  private func loopStep(_ fault: Fault) -> WakeModel? {
    var state = self
    switch loop {
    case .beginPass:
      state.word = .awake
      state.loop = .take
    case .take:
      state.served += inbox
      state.inbox = 0
      state.loop = .lookAtFlag
    case .lookAtFlag: state.loop = flag ? .ended : .beginSleep
    case .beginSleep:
      if word == .awake || fault == .sleepsThoughNotified {
        state.word = .asleep
        state.loop = fault == .noLookAtInboxAfterBeginSleep ? .enterKernel : .lookAtInbox
      } else {
        state.loop = .beginPass
      }
    case .lookAtInbox: state.loop = inbox == 0 ? .enterKernel : .beginPass
    case .enterKernel:
      state.loop = word == .asleep || fault == .noKernelCompare ? .inKernel : .beginPass
    case .inKernel, .ended: return nil
    }
    return state
  }

  private func otherStep(_ index: Int, _ fault: Fault) -> WakeModel {
    var state = self
    let setsFlag = postsLeft[index] == 0
    switch others[index] {
    case .change:
      if setsFlag {
        state.flag = true
        state.others[index] = fault == .notifierOnlyLoads ? .lookAtWord : .exchange
      } else {
        state.inbox += 1
        state.others[index] = .lookAtWord
      }
    case .lookAtWord:
      state.others[index] = word == .asleep ? .exchange : .done
    case .exchange:
      state.others[index] = word == .asleep ? .wake : .done
      state.word = .notified
    case .wake:
      if loop == .inKernel { state.loop = .beginPass }
      state.others[index] = .done
    case .done: break
    }
    if state.others[index] == .done, state.postsLeft[index] > 1 {
      state.postsLeft[index] -= 1
      state.others[index] = .change
    }
    return state
  }

  /// Goes through every state that can be reached.
  ///
  /// - Returns: how many there are, and how many of them have lost a wake.
  static func explore(_ start: WakeModel, _ fault: Fault) -> (states: Int, lost: Int) {
    var seen: Set<WakeModel> = [start]
    var queue = [start]
    var lost = 0
    while let state = queue.popLast() {
      if state.hasLostAWake { lost += 1 }
      for next in state.next(fault) where seen.insert(next).inserted { queue.append(next) }
    }
    return (seen.count, lost)
  }
}

@Suite("The wake protocol of the loop", .endsInTime)
struct WakeProtocolTests {
  /// With and without a stopper, whose own wake would hide one that a poster has lost.
  private static let starts = [true, false].map {
    WakeModel(posters: 2, postsEach: 2, setsFlag: $0)
  }

  @Test("in no order of the steps of posters, a stopper and the loop is a wake lost")
  func model() {
    for start in Self.starts {
      let (states, lost) = WakeModel.explore(start, .none)
      #expect(states > 200)
      #expect(lost == 0)
    }
  }

  @Test(
    "the model finds each weaker protocol to lose wakes",
    arguments: WakeModel.Fault.allCases.filter { $0 != .none })
  func weakened(fault: WakeModel.Fault) {
    #expect(Self.starts.contains { WakeModel.explore($0, fault).lost > 0 })
  }

  @Test(
    "no post is lost while the loop keeps falling asleep",
    arguments: [(1, false), (2, true), (3, false), (4, true)] as [(UInt64, Bool)])
  func stress(seed: UInt64, inPoll: Bool) throws {
    let thread = try LoopThread()
    defer { thread.end() }
    let pipe = Pipe()
    if inPoll { try thread.loop.add(DescriptorSource(pipe.reader, for: .readable) { _, _ in }) }
    try concurrently(3) { index in
      var random = SeededGenerator(seed: seed &* 97 &+ UInt64(index))
      let served = Shared(0)
      for round in 1...1_500 {
        // Each waits for its own block, so the loop sleeps in between: a lost wake is a hang.
        #expect(thread.loop.perform { served.set(round) })
        switch Int.random(in: 0..<4, using: &random) {
        case 0: SystemThread.yield()
        case 1: for _ in 0..<Int.random(in: 0..<2_000, using: &random) { _ = served }
        case 2: thread.loop.wakeUp()
        default: break
        }
        served.waitUntil { $0 == round }
      }
    }
  }

  @Test("no stop is lost while the loop keeps falling asleep", arguments: [5, 6] as [UInt64])
  func stressStop(seed: UInt64) throws {
    let made = Shared<ThreadRunLoop?>(nil)
    let runs = Shared(0)
    let total = 2_000
    let owner = try inBackground {
      let loop = ThreadRunLoop.current
      made.set(loop)
      let flag = ExitFlag()
      for _ in 0..<total {
        let reason = loop.run(until: flag)
        runs.change { $0 += reason == .stopped ? 1 : total }
      }
    }
    let loop = made.wait { $0 }
    var random = SeededGenerator(seed: seed)
    for round in 1...total {
      for _ in 0..<Int.random(in: 0..<1_000, using: &random) { _ = round }
      loop.stop()
      runs.waitUntil { $0 >= round }
    }
    owner()
    #expect(runs.value == total)
  }
}
