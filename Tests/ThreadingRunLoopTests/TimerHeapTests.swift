import TestSupport
import Testing
import Threading
import ThreadingPlatform

@testable import ThreadingRunLoop

@Suite("TimerHeap", .endsInTime)
struct TimerHeapTests {
  @Test(
    "whatever is added, taken out and gathered, the first is the first of a list kept in order",
    arguments: [1, 2, 3, 4] as [UInt64])
  func model(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var heap = TimerHeap()
    /// What is in the heap, in order.
    var model: [(moment: Int64, sequence: UInt64, timer: ThreadTimer)] = []
    var now: Int64 = 0
    var gatherings = 0
    for sequence in 0..<8_000 as Range<UInt64> {
      // It grows to some hundreds and is emptied now and then.
      switch Int.random(in: 0..<100, using: &random) {
      case 0..<(sequence / 1_000 % 2 == 0 ? 75 : 40):
        let moment = now + Int64.random(in: -5...50, using: &random)
        let timer = try ThreadTimer(after: .seconds(1)) { _ in }
        let place =
          model.firstIndex { ($0.moment, $0.sequence) > (moment, sequence) } ?? model.endIndex
        let isFirst = heap.insert(timer, at: moment, sequence: sequence)
        #expect(isFirst == (place == 0))
        model.insert((moment, sequence, timer), at: place)
      case 95..<97:
        now += Int64.random(in: 0...60, using: &random)
        heap.gather(until: now)
        gatherings += 1
      case _ where model.isEmpty: break
      case 75..<85:
        let gone = model.remove(at: Int.random(in: 0..<model.count, using: &random)).timer
        #expect(heap.remove(slot: gone.heapSlot) === gone)
        #expect(gone.heapSlot == -1)
      default:
        // All that are due, as a pass does.
        repeat {
          let first = model.removeFirst()
          #expect(heap.popFirst() === first.timer)
        } while !model.isEmpty && model[0].moment <= now
      }
      #expect(heap.count == model.count)
      #expect(heap.first?.moment == model.first?.moment)
      #expect(heap.first?.sequence == model.first?.sequence)
    }
    #expect(gatherings > 50)
    while let first = model.first {
      #expect(heap.popFirst() === first.timer)
      model.removeFirst()
    }
    #expect(heap.isEmpty && heap.first == nil)
  }

  @Test("many that are due at once fire in order, whatever is done to some of them meanwhile")
  func manyDue() throws {
    let (order, reason) = try onOwnThread {
      let loop = ThreadRunLoop.current
      let order = Shared<[Int]>([])
      let timers = Shared<[ThreadTimer]>([])
      let start = MonotonicInstant.now
      for number in 0..<1_000 {
        // Backwards, all of them past.
        let moment = MonotonicInstant(nanoseconds: start.nanoseconds - Int64(number) * 1_000)
        let timer = try? ThreadTimer(at: moment) { firing in
          order.append(number)
          switch number {
          case 990: timers.value[500].cancel()
          case 980: timers.value[400].reschedule(at: .now.advanced(by: .milliseconds(1)))
          case 970 where order.value.count { $0 == 970 } == 1:
            firing.timer.reschedule(at: .now)
          case 960:
            if let late = try? ThreadTimer(at: start, { _ in order.append(2_000) }) {
              try? loop.add(late)
            }
          // An inner run goes on where the outer one was.
          case 950: loop.poll()
          default: break
          }
        }
        guard let timer, (try? loop.add(timer)) != nil else { continue }
        timers.append(timer)
      }
      let reason = loop.run()
      timers.set([])
      return (order.value, reason)
    }
    // The late one is for an earlier moment than the one that was set anew, but not before the look.
    let expected = (0..<1_000).reversed().filter { $0 != 500 && $0 != 400 } + [2_000, 970]
    #expect(order.filter { $0 != 400 } == expected)
    #expect(order.count { $0 == 400 } == 1)
    #expect(reason == .finished)
  }
}
