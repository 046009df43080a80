import BenchmarkSupport
import Dispatch
import Foundation
import Glibc
import Threading
import ThreadingFoundation

/// Threads and what belongs to them.
enum ThreadWorkloads {
  static let all = [
    startAndJoin("thread/start-join", on: .free),
    startAndJoin("thread/start-join-one-core", on: .oneProcessor),
    startDetached, dictionaryRead, dictionaryWrite, localRead, localChange, cancellableWait,
  ]

  /// The same for all, enough for any body here.
  private static let stackSize = 512 * 1024

  private static func startAndJoin(_ name: String, on processors: Team.Placement) -> Workload {
    Workload(
      name, item: "start a thread, have it count, wait for its end", threads: 2,
      [
        .ours { items in
          let attributes = ThreadAttributes(stackSize: stackSize)
          return try startBatch(items, on: processors) { body in
            try PosixThread.start(attributes, body: body).join()
          }
        },
        Implementation("ours-foundation") { items in
          let attributes = ThreadAttributes(stackSize: stackSize)
          return try startBatch(items, on: processors) { body in
            try FoundationThread.start(attributes, body: body).join()
          }
        },
        Implementation("pthread") { items in
          try startBatch(items, on: processors) { body in
            try PthreadRival.startAndJoin(stackSize: stackSize, body)
          }
        },
        Implementation("foundation") { items in
          // There is no join: the body says that it is through, a little before the thread is gone.
          let done = DispatchSemaphore(value: 0)
          return try startBatch(items, on: processors) { body in
            let thread = Foundation.Thread {
              body()
              done.signal()
            }
            thread.stackSize = stackSize
            thread.start()
            done.wait()
          }
        },
      ])
  }

  @inline(__always)
  private static func startBatch(
    _ items: Int, on processors: Team.Placement,
    _ startAndJoin: @escaping @Sendable (@escaping @Sendable () -> Void) throws -> Void
  ) throws -> Int64 {
    // From a thread of ours, as programs that use them do. The kernel is told directly where it runs, so
    // that what it starts inherits that.
    try PosixThread.start { () throws -> Int64 in
      if processors == .oneProcessor { ProcessorBinding.bindCurrentThread(to: 0) }
      let tally = Tally()
      let stopwatch = Stopwatch()
      for _ in 0..<items { try startAndJoin { tally.increment() } }
      let nanoseconds = stopwatch.nanoseconds
      try WrongResult.unless("the threads that ran", tally.value, is: items)
      return nanoseconds
    }.join()
  }

  private static let startDetached = Workload(
    "thread/start-detached", item: "start a detached thread that counts; at most 16 at once",
    threads: 2,
    [
      .ours { items in
        let attributes = ThreadAttributes(stackSize: stackSize)
        return try detachBatch(items) { body in _ = try PosixThread.detach(attributes, body: body) }
      },
      Implementation("pthread") { items in
        try detachBatch(items) { body in
          try PthreadRival.startDetached(stackSize: stackSize, body)
        }
      },
      Implementation("foundation") { items in
        try detachBatch(items) { body in
          let thread = Foundation.Thread(block: body)
          thread.stackSize = stackSize
          thread.start()
        }
      },
    ])

  @inline(__always)
  private static func detachBatch(
    _ items: Int, _ start: @escaping @Sendable (@escaping @Sendable () -> Void) throws -> Void
  ) throws -> Int64 {
    let tally = AtomicCounter()
    let room = DispatchSemaphore(value: 16)
    let stopwatch = Stopwatch()
    for _ in 0..<items {
      room.wait()
      try start {
        tally.increment()
        room.signal()
      }
    }
    for _ in 0..<16 { room.wait() }
    let nanoseconds = stopwatch.nanoseconds
    for _ in 0..<16 { room.signal() }
    try WrongResult.unless("the threads that ran", tally.value, is: items)
    return nanoseconds
  }

  private enum NumberKey: ThreadDictionaryKey {
    typealias Value = Int
  }

  private static let stringKey = "benchmarks.number"

  private static let dictionaryRead = Workload(
    "thread/dictionary-read", item: "read a number from the thread's dictionary", threads: 1,
    [
      .ours { items in
        ThreadDictionary.current[NumberKey.self] = 7
        defer { ThreadDictionary.current[NumberKey.self] = nil }
        return try readBatch(items) { ThreadDictionary.current[NumberKey.self] }
      },
      Implementation("ours-string") { items in
        ThreadDictionary.current[stringKey] = 7
        defer { ThreadDictionary.current[stringKey] = nil }
        return try readBatch(items) { ThreadDictionary.current[stringKey] as? Int }
      },
      Implementation("foundation") { items in
        Foundation.Thread.current.threadDictionary[stringKey] = 7
        defer { Foundation.Thread.current.threadDictionary.removeObject(forKey: stringKey) }
        return try readBatch(items) {
          Foundation.Thread.current.threadDictionary[stringKey] as? Int
        }
      },
      Implementation("pthread") { items in
        var key = pthread_key_t()
        _ = unsafe pthread_key_create(&key, nil)
        defer { pthread_key_delete(key) }
        _ = unsafe pthread_setspecific(key, UnsafeRawPointer(bitPattern: 7))
        return try readBatch(items) { unsafe Int(bitPattern: pthread_getspecific(key)) }
      },
    ])

  @inline(__always)
  private static func readBatch(_ items: Int, _ read: () -> Int?) throws -> Int64 {
    var sum = 0
    let stopwatch = Stopwatch()
    for _ in 0..<items { sum &+= read() ?? 0 }
    let nanoseconds = stopwatch.nanoseconds
    try WrongResult.unless("the sum of what was read", sum, is: 7 * items)
    return nanoseconds
  }

  private static let dictionaryWrite = Workload(
    "thread/dictionary-write", item: "replace a number in the thread's dictionary", threads: 1,
    [
      .ours { items in
        defer { ThreadDictionary.current[NumberKey.self] = nil }
        return try writeBatch(
          items, { ThreadDictionary.current[NumberKey.self] = $0 },
          { ThreadDictionary.current[NumberKey.self] })
      },
      Implementation("ours-string") { items in
        defer { ThreadDictionary.current[stringKey] = nil }
        return try writeBatch(
          items, { ThreadDictionary.current[stringKey] = $0 },
          { ThreadDictionary.current[stringKey] as? Int })
      },
      Implementation("foundation") { items in
        defer { Foundation.Thread.current.threadDictionary.removeObject(forKey: stringKey) }
        return try writeBatch(
          items, { Foundation.Thread.current.threadDictionary[stringKey] = $0 },
          { Foundation.Thread.current.threadDictionary[stringKey] as? Int })
      },
    ])

  @inline(__always)
  private static func writeBatch(
    _ items: Int, _ write: (Int) -> Void, _ read: () -> Int?
  ) throws -> Int64 {
    let stopwatch = Stopwatch()
    for number in 0..<items { write(number) }
    let nanoseconds = stopwatch.nanoseconds
    try WrongResult.unless("the number last written", read(), is: items - 1)
    return nanoseconds
  }

  // MARK: Thread-local variables

  private static let localNumber = ThreadLocal { 0 }
  private static let visibleNumber = ThreadLocal(isVisible: true) { 0 }

  private static let localRead = Workload(
    "thread/local-read", item: "read a number from a thread-local variable", threads: 1,
    [
      .ours { items in
        localNumber.value = 7
        return try readBatch(items) { localNumber.value }
      },
      Implementation("ours-visible") { items in
        visibleNumber.value = 7
        return try readBatch(items) { visibleNumber.value }
      },
      Implementation("pthread") { items in
        try withPthreadKey { key in
          _ = unsafe pthread_setspecific(key, UnsafeRawPointer(bitPattern: 7))
          return try readBatch(items) { unsafe Int(bitPattern: pthread_getspecific(key)) }
        }
      },
    ])

  private static let localChange = Workload(
    "thread/local-change", item: "add 1 to a number in a thread-local variable", threads: 1,
    [
      .ours { items in
        localNumber.value = 1
        return try changeBatch(items, { localNumber.value += 1 }, { localNumber.value - 1 })
      },
      Implementation("ours-in-place") { items in
        localNumber.value = 1
        return try changeBatch(
          items, { localNumber.withValue { $0 += 1 } }, { localNumber.value - 1 })
      },
      Implementation("ours-visible") { items in
        visibleNumber.value = 1
        return try changeBatch(items, { visibleNumber.value += 1 }, { visibleNumber.value - 1 })
      },
      Implementation("pthread") { items in
        try withPthreadKey { key in
          func number() -> Int { unsafe Int(bitPattern: pthread_getspecific(key)) }
          _ = unsafe pthread_setspecific(key, UnsafeRawPointer(bitPattern: 1))
          return try changeBatch(
            items,
            { _ = unsafe pthread_setspecific(key, UnsafeRawPointer(bitPattern: number() + 1)) },
            { number() - 1 })
        }
      },
    ])

  private static func withPthreadKey(_ body: (pthread_key_t) throws -> Int64) throws -> Int64 {
    var key = pthread_key_t()
    _ = unsafe pthread_key_create(&key, nil)
    defer { pthread_key_delete(key) }
    return try body(key)
  }

  @inline(__always)
  private static func changeBatch(
    _ items: Int, _ change: () -> Void, _ changes: () -> Int
  ) throws -> Int64 {
    let stopwatch = Stopwatch()
    for _ in 0..<items { change() }
    let nanoseconds = stopwatch.nanoseconds
    try WrongResult.unless("the number of changes", changes(), is: items)
    return nanoseconds
  }

  // MARK: Waits that end on cancellation

  private static let cancellableWait = Workload(
    "thread/cancel-acquire", item: "take a permit that is there and give it back", threads: 1,
    [
      .ours { items in
        let semaphore = CountingSemaphore(1)
        return try permitBatch(items, semaphore) { try semaphore.acquireUnlessCancelled() }
      },
      Implementation("ours-plain") { items in
        let semaphore = CountingSemaphore(1)
        return try permitBatch(items, semaphore) { semaphore.acquire() }
      },
    ])

  @inline(__always)
  private static func permitBatch(
    _ items: Int, _ semaphore: CountingSemaphore, _ acquire: () throws -> Void
  ) throws -> Int64 {
    let stopwatch = Stopwatch()
    for _ in 0..<items {
      try acquire()
      semaphore.release()
    }
    let nanoseconds = stopwatch.nanoseconds
    try WrongResult.unless("the permits that are left", semaphore.availablePermits, is: 1)
    return nanoseconds
  }
}
