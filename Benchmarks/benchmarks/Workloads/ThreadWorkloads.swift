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
    dictionaryRead, dictionaryWrite,
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
    try Team.alone(on: processors) {
      let tally = Tally()
      let stopwatch = Stopwatch()
      for _ in 0..<items { try startAndJoin { tally.increment() } }
      let nanoseconds = stopwatch.nanoseconds
      try WrongResult.unless("the threads that ran", tally.value, is: items)
      return nanoseconds
    }
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
}
