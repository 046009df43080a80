import Synchronization
import TestSupport
import Testing
import Threading
import ThreadingPlatform

@Suite("Rings of joins", .endsInTime)
struct JoinRingTests {
  @Test(
    "threads that join each other in a ring: all end, and exactly one is refused", arguments: 2...5
  )
  func ring(count: Int) throws {
    for _ in 0..<40 {
      let threads = Locked<[PosixThread<String, Never>]>([])
      let ready = Shared.Flag()
      let made = (0..<count).map { index in
        PosixThread(ThreadAttributes(name: "ring \(index)")) { () -> String in
          ready.wait()
          let next = threads.withLock { $0[(index + 1) % count] }
          do throws(ThreadingError) {
            try next.join()
            return "joined"
          } catch {
            return "\(error.codeName) \(error.message)"
          }
        }
      }
      threads.withLock { $0 = made }
      for thread in made { try thread.start() }
      ready.set()
      var refused = 0
      for thread in made {
        let answer = try thread.join()
        if answer != "joined" {
          refused += 1
          #expect(answer.hasPrefix("EDEADLK"))
          #expect(answer.contains("waits for"))
        }
      }
      #expect(refused == 1)
      threads.withLock { $0 = [] }
    }
  }

  @Test("a join with a limit is no part of a cycle")
  func timed() throws {
    let other = Locked<PosixThread<Bool, Never>?>(nil)
    let isWaiting = Shared.Flag()
    let limited = try PosixThread.start { () -> Bool in
      while other.withLock({ $0 }) == nil { waitABit() }
      isWaiting.set()
      let thread = other.withLock { $0 }
      return (try? thread?.join(for: .milliseconds(30))) == nil
    }
    let unlimited = PosixThread { () -> Bool in
      isWaiting.wait()
      return (try? limited.join()) != nil
    }
    other.withLock { $0 = unlimited }
    try unlimited.start()
    #expect(try unlimited.join())
    #expect(try limited.join())
    other.withLock { $0 = nil }
  }

  @Test(
    "a ring that is closed by two threads at the same moment refuses one of them", arguments: [300])
  func twoClosers(rounds: Int) throws {
    for _ in 0..<rounds {
      let threads = Locked<[PosixThread<Bool, Never>]>([])
      let arrived = Atomic<Int>(0)
      let made = (0..<2).map { index in
        PosixThread(ThreadAttributes(stackSize: 1 << 17)) { () -> Bool in
          let other = threads.withLock { $0[1 - index] }
          arrived.wrappingAdd(1, ordering: .relaxed)
          while arrived.load(ordering: .relaxed) < 2 {}
          return (try? other.join()) != nil
        }
      }
      threads.withLock { $0 = made }
      for thread in made { try thread.start() }
      let answers = try made.map { try $0.join() }
      #expect(answers.filter { $0 }.count == 1)
      threads.withLock { $0 = [] }
    }
  }

  @Test(
    "a chain of a thousand joins is no ring, whichever end comes first", arguments: [true, false])
  func chain(fromTheFront: Bool) throws {
    let count = 1_000
    let gate = Shared.Gate()
    let attributes = ThreadAttributes(stackSize: 1 << 17)
    let threads = Locked<[PosixThread<Int, Never>]>([])
    let turns = (0..<count).map { _ in CountdownLatch(1) }
    let joining = Atomic<Int>(0)
    let made = (0..<count).map { index in
      PosixThread(attributes) { () -> Int in
        guard index > 0 else {
          gate.wait()
          return 0
        }
        let before = threads.withLock { $0[index - 1] }
        turns[index].wait()
        joining.wrappingAdd(1, ordering: .relaxed)
        return ((try? before.join()) ?? -count * count) + 1
      }
    }
    threads.withLock { $0 = made }
    for thread in made { try thread.start() }
    let order = Array(1..<count)
    for (number, index) in (fromTheFront ? order : order.reversed()).enumerated() {
      turns[index].countDown()
      while joining.load(ordering: .relaxed) <= number { waitABit() }
    }
    gate.open()
    #expect(try made.last?.join() == count - 1)
    threads.withLock { $0 = [] }
  }
}
