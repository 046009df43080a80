import Synchronization
import TestSupport
import Testing
import Threading
import ThreadingThreads

private final class NotSendable {
  var count = 0
}

/// Notes its release.
private final class Probe: Sendable {
  private let onRelease: @Sendable () -> Void
  init(_ onRelease: @escaping @Sendable () -> Void) { self.onRelease = onRelease }
  deinit { onRelease() }
}

@Suite("ThreadLocal", .endsInTime)
struct ThreadLocalTests {
  @Test("each thread has its own value, made when it first asks")
  func perThread() throws {
    let made = Atomic<Int>(0)
    let local = ThreadLocal { () -> Int in
      made.wrappingAdd(1, ordering: .relaxed)
      return 100
    }
    let values = Locked<[Int]>([])
    try concurrently(8) { index in
      if index.isMultiple(of: 2) {
        #expect(!local.hasValue)
        local.value += index
        #expect(local.hasValue)
        let value = local.value
        values.withLock { $0.append(value) }
      }
    }
    #expect(values.withLock { $0.sorted() } == [100, 102, 104, 106])
    #expect(made.load(ordering: .relaxed) == 4)
  }

  @Test("a value that is not Sendable is changed in place")
  func inPlace() throws {
    let objects = ThreadLocal { NotSendable() }
    let arrays = ThreadLocal { [Int]() }
    let thread = try PosixThread.start { () -> [Int] in
      objects.value.count += 2
      objects.withValue { $0.count += 3 }
      for number in 0..<4 { arrays.withValue { $0.append(number) } }
      arrays.value[0] = objects.value.count
      return arrays.value
    }
    #expect(try thread.join() == [5, 1, 2, 3])
  }

  @Test("values are replaced, taken out and made anew, and each is released once")
  func balance() throws {
    let released = Atomic<Int>(0)
    let local = ThreadLocal { Probe { released.wrappingAdd(1, ordering: .relaxed) } }
    func count() -> Int { released.load(ordering: .relaxed) }
    try concurrently(1) { _ in
      _ = local.value
      local.value = Probe { released.wrappingAdd(1, ordering: .relaxed) }
      #expect(released.load(ordering: .relaxed) == 1)
      local.remove()
      local.remove()
      #expect(released.load(ordering: .relaxed) == 2)
      #expect(!local.hasValue)
      _ = local.value
    }
    #expect(count() == 3)
  }

  @Test(
    "values are released at the thread's end, the last stored first, those before it still there")
  func order() throws {
    let order = Locked<[String]>([])
    let first = ThreadLocal { Probe { order.withLock { $0.append("first") } } }
    let name = ThreadLocal { "unset" }
    let second = ThreadLocal {
      Probe {
        let seen = name.value
        order.withLock { $0.append("second sees \(seen)") }
      }
    }
    let thread = try PosixThread.start {
      _ = first.value
      name.value = "name"
      _ = second.value
      ThreadHandle.current.atEnd { order.withLock { $0.append("hook") } }
    }
    try thread.join()
    #expect(order.withLock { $0 } == ["hook", "second sees name", "first"])
  }

  @Test("foreign threads release their values, and thousands of variables are possible")
  func manyVariables() throws {
    let released = Atomic<Int>(0)
    let locals = (0..<5_000).map { number in
      ThreadLocal { (number, Probe { released.wrappingAdd(1, ordering: .relaxed) }) }
    }
    let sums = Locked<[Int]>([])
    try concurrently(4) { _ in
      let sum = locals.reduce(0) { $0 + $1.value.0 }
      sums.withLock { $0.append(sum) }
    }
    #expect(sums.withLock { $0 } == Array(repeating: 12_497_500, count: 4))
    #expect(released.load(ordering: .relaxed) == 20_000)
  }

  @Test("a new variable in the place of one that is gone starts without a value")
  func reusedPlace() throws {
    try concurrently(1) { _ in
      for round in 0..<100 {
        let local = ThreadLocal { -1 }
        #expect(!local.hasValue)
        #expect(local.value == -1)
        local.value = round
        #expect(local.value == round)
      }
    }
  }

  @Test("a value whose release stores another is released as well")
  func storedByDeinit() throws {
    let released = Atomic<Int>(0)
    let other = ThreadLocal { Probe { released.wrappingAdd(1, ordering: .relaxed) } }
    let local = ThreadLocal { Probe { _ = other.value } }
    let thread = try PosixThread.start { _ = local.value }
    try thread.join()
    #expect(released.load(ordering: .relaxed) == 1)
  }

  @Test("withValue may use other variables, also so many that the table grows")
  func nestedOthers() throws {
    let outer = ThreadLocal { [0] }
    let thread = try PosixThread.start { () -> [Int] in
      outer.withValue { array in
        let others = (0..<500).map { number in ThreadLocal { number } }
        for other in others { array.append(other.value) }
      }
      return outer.value
    }
    #expect(try thread.join().count == 501)
  }

  @Test("an error of the body passes through withValue, which leaves the value in place")
  func throwing() throws {
    struct Failed: Error {}
    let local = ThreadLocal { 1 }
    #expect(throws: Failed.self) {
      try local.withValue { value in
        value = 2
        throw Failed()
      }
    }
    #expect(local.value == 2)
    local.remove()
  }

  @Test("using a variable inside its own withValue stops the program", arguments: 0..<4)
  func nestedSame(kind: Int) async {
    await #expect(processExitsWith: .failure) { [kind] in
      let local = ThreadLocal { 1 }
      local.withValue { _ in
        switch kind {
        case 0: _ = local.value
        case 1: local.value = 2
        case 2: local.withValue { $0 = 2 }
        default: local.remove()
        }
      }
    }
  }
}
