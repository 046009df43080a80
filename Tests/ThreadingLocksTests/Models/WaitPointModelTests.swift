import TestSupport
import Testing

@Suite("Every interleaving of waiting for an atomic value", .endsInTime)
struct WaitPointModelTests {
  private enum Fault: Hashable, Sendable {
    case none
    /// The waiter looks at the value before it announces itself.
    case looksFirst
    /// The waiter looks at the value before it reads the epoch.
    case readsTheEpochLast
    /// The notifier wakes without moving the epoch on.
    case keepsTheEpoch
  }

  private enum Step: Hashable, Sendable {
    case earlyLook, announce, read, look(epoch: Int), lateRead, sleep(epoch: Int), asleep, leave
    case change, notify, move, wake, done
  }

  private struct Shared: Hashable {
    var value = 0
    var waiting = 0
    var epoch = ModelWord(0)
  }

  /// Waiters that wait for the value to be 2, and two threads that each add 1 and notify.
  private func verdict(waiters: Int, _ fault: Fault = .none) -> Verdict {
    let first: Step = fault == .looksFirst ? .earlyLook : .announce
    let steps = [Step](repeating: first, count: waiters) + [.change, .change]
    return explore(
      Program(Shared(), steps, end: .done) { thread, step, shared in
        var next = shared
        switch step {
        case .earlyLook:
          return [(next.value == 2 ? .done : .announce, next)]
        case .announce:
          next.waiting += 1
          switch fault {
          case .looksFirst: return [(.sleep(epoch: next.epoch.value), next)]
          case .readsTheEpochLast: return [(.look(epoch: -1), next)]
          default: return [(.read, next)]
          }
        case .read:
          return [(.look(epoch: next.epoch.value), next)]
        case .look(let epoch):
          if next.value == 2 { return [(.leave, next)] }
          return [(fault == .readsTheEpochLast ? .lateRead : .sleep(epoch: epoch), next)]
        case .lateRead:
          return [(.sleep(epoch: next.epoch.value), next)]
        case .sleep(let epoch):
          next.epoch.wait(thread, while: epoch)
          return [(.asleep, next)]
        case .asleep:
          if next.epoch.isAsleep(thread) { return [] }
          return [(fault == .readsTheEpochLast ? .look(epoch: -1) : .read, next)]
        case .leave:
          next.waiting -= 1
          return [(.done, next)]
        case .change:
          next.value += 1
          return [(.notify, next)]
        case .notify:
          return [(next.waiting == 0 ? .done : .move, next)]
        case .move:
          if fault != .keepsTheEpoch { next.epoch.value += 1 }
          return [(.wake, next)]
        case .wake:
          next.epoch.wake()
          return [(.done, next)]
        case .done:
          return []
        }
      } rule: { shared, steps in
        steps.contains(.leave) && shared.value != 2 ? "went on too early" : nil
      })
  }

  @Test("no change is missed")
  func sound() {
    let verdict = verdict(waiters: 2)
    #expect(verdict.isSound, "\(verdict)")
  }

  @Test("steps in another order are found out")
  func faults() {
    #expect(verdict(waiters: 1, .looksFirst).isStuck)
    #expect(verdict(waiters: 1, .readsTheEpochLast).isStuck)
    #expect(verdict(waiters: 1, .keepsTheEpoch).isStuck)
  }
}
