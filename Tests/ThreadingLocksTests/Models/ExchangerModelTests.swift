import TestSupport
import Testing

@Suite("Every interleaving of the exchanger", .endsInTime)
struct ExchangerModelTests {
  private enum Fault: Hashable, Sendable {
    case none
    /// One that gives up does not look whether its offer has been taken.
    case withdrawsBlindly
    /// The second to come says that the offer is taken before it leaves its own value.
    case repliesLate
    /// The second to come leaves the offer where it is.
    case leavesTheOffer
    /// One whose offer was taken while it gave up does not wait for the reply.
    case doesNotWaitForTheReply
  }

  private enum Step: Hashable, Sendable {
    case come, sleep(offer: Int), withdraw(offer: Int), awaitGrant(offer: Int)
    case reply(offer: Int), grant(offer: Int), done
  }

  private struct Shared: Hashable {
    /// The thread whose offer is pending.
    var pending: Int?
    /// What was left for each thread's offer.
    var replies: [Int: Int] = [:]
    var granted: Set<Int> = []
    /// What each thread went away with.
    var results: [Int: Int] = [:]
    var gaveUp: Set<Int> = []
  }

  private func verdict(threads: Int, timed: Set<Int> = [], _ fault: Fault = .none) -> Verdict {
    explore(
      Program(Shared(), [Step](repeating: .come, count: threads), end: .done) {
        thread, step, shared in
        var next = shared
        func leave() -> [(Step, Shared)] {
          // No reply is a value of nobody's, which the rule finds.
          next.results[thread] = next.replies[thread] ?? -1
          return [(.done, next)]
        }
        switch step {
        case .come:
          guard let other = next.pending else {
            next.pending = thread
            return [(.sleep(offer: thread), next)]
          }
          if fault != .leavesTheOffer { next.pending = nil }
          next.results[thread] = other
          return [(fault == .repliesLate ? .grant(offer: other) : .reply(offer: other), next)]
        case .reply(let offer):
          next.replies[offer] = thread
          return [(fault == .repliesLate ? .done : .grant(offer: offer), next)]
        case .grant(let offer):
          next.granted.insert(offer)
          return [(fault == .repliesLate ? .reply(offer: offer) : .done, next)]
        case .sleep(let offer):
          if next.granted.contains(offer) { return leave() }
          return timed.contains(thread) ? [(.withdraw(offer: offer), next)] : []
        case .withdraw(let offer):
          if next.pending == offer || fault == .withdrawsBlindly {
            if next.pending == offer { next.pending = nil }
            next.gaveUp.insert(thread)
            return [(.done, next)]
          }
          return fault == .doesNotWaitForTheReply ? leave() : [(.awaitGrant(offer: offer), next)]
        case .awaitGrant(let offer):
          return next.granted.contains(offer) ? leave() : []
        case .done:
          return []
        }
      } rule: { shared, steps in
        guard steps.allSatisfy({ $0 == .done }) else {
          return shared.results.values.contains(-1) ? "went away with nothing" : nil
        }
        for (thread, other) in shared.results where shared.results[other] != thread {
          return "\(thread) has the value of \(other), which has another's"
        }
        let all = shared.results.count + shared.gaveUp.count
        return all == threads ? nil : "one has a value and gave up"
      })
  }

  @Test("threads are paired, and one that gives up keeps its value")
  func sound() {
    for (threads, timed) in [
      (2, []), (4, []), (3, [0, 1, 2]), (4, [0, 1, 2, 3]), (2, [0, 1]),
    ] as [(Int, Set<Int>)] {
      let verdict = verdict(threads: threads, timed: timed)
      #expect(verdict.isSound, "\(threads) \(timed): \(verdict)")
    }
  }

  @Test("an exchanger with a fault is found out")
  func faults() {
    #expect(verdict(threads: 2, timed: [0, 1], .withdrawsBlindly).isViolated)
    #expect(verdict(threads: 2, .repliesLate).isViolated)
    #expect(verdict(threads: 4, .leavesTheOffer).isViolated)
    #expect(verdict(threads: 2, timed: [0, 1], .doesNotWaitForTheReply).isViolated)
  }
}
