import Threading

extension ConditionsChapter {
  /// A buffer between threads that has only so many places.
  protocol BoundedBuffer: AnyObject, Sendable {
    func put(_ number: Int)
    func take() -> Int
    /// The most numbers that were in it at one time.
    var most: Int { get }
  }

  // snippet: condition
  final class ConditionBuffer: BoundedBuffer {
    private let mutex = FastMutex()
    private let isNotFull = ConditionVariable()
    private let isNotEmpty = ConditionVariable()
    private let capacity: Int
    // SAFETY: touched with the mutex held alone.
    private nonisolated(unsafe) var numbers: [Int] = []
    private nonisolated(unsafe) var highest = 0

    init(capacity: Int) { self.capacity = capacity }

    func put(_ number: Int) {
      mutex.withLock {
        isNotFull.wait(mutex) { unsafe numbers.count < capacity }
        unsafe numbers.append(number)
        unsafe highest = max(highest, numbers.count)
      }
      isNotEmpty.signal()
    }

    func take() -> Int {
      let number = mutex.withLock {
        isNotEmpty.wait(mutex) { unsafe !numbers.isEmpty }
        return unsafe numbers.removeFirst()
      }
      isNotFull.signal()
      return number
    }
    // end

    var most: Int { mutex.withLock { unsafe highest } }
  }

  // snippet: predicate
  final class PredicateBuffer: BoundedBuffer {
    private let state = Locked((numbers: [Int](), highest: 0))
    private let capacity: Int

    init(capacity: Int) { self.capacity = capacity }

    func put(_ number: Int) {
      state.withLock(when: { [capacity] in $0.numbers.count < capacity }) { state in
        state.numbers.append(number)
        state.highest = max(state.highest, state.numbers.count)
      }
    }

    func take() -> Int {
      state.withLock(when: { !$0.numbers.isEmpty }) { $0.numbers.removeFirst() }
    }
    // end

    var most: Int { state.withLock { $0.highest } }
  }

  /// Sends numbers from one thread to another.
  static func pump(
    _ count: Int, through buffer: some BoundedBuffer
  ) throws -> (isComplete: Bool, most: Int) {
    let producer = try PosixThread.start {
      for number in 0..<count { buffer.put(number) }
    }
    let consumer = try PosixThread.start {
      (0..<count).allSatisfy { buffer.take() == $0 }
    }
    try producer.join()
    return (try consumer.join(), buffer.most)
  }
}
