import BenchmarkSupport
import Dispatch
import Foundation
import Threading
import ThreadingFoundation
import ThreadingPlatform

/// What one of many holds while it waits.
enum MemoryWorkloads {
  static let all = [thread, loop, timer, message, operation].compactMap(\.self)

  private static let stackSize = 64 * 1024

  /// All the memory of the process: a thread's stack does not come from the allocator.
  private static let thread = Workload(
    "memory/thread", item: "a thread that waits, with a stack of 64 KiB", threads: 1,
    size: .fixed(500), unit: .bytes,
    [
      .ours { items in
        try threadBatch(items) { body in
          let thread = try PosixThread.start(ThreadAttributes(stackSize: stackSize), body: body)
          return { try thread.join() }
        }
      },
      Implementation("ours-foundation") { items in
        try threadBatch(items) { body in
          let thread = try FoundationThread.start(
            ThreadAttributes(stackSize: stackSize), body: body)
          return { try thread.join() }
        }
      },
      Implementation("pthread") { items in
        try threadBatch(items) { body in
          let thread = try SystemThread.start(.init(stackSize: stackSize), body: body)
          return { thread.join() }
        }
      },
      Implementation("foundation") { items in
        try threadBatch(items) { body in
          let ended = DispatchSemaphore(value: 0)
          let thread = Foundation.Thread {
            body()
            ended.signal()
          }
          thread.stackSize = stackSize
          thread.start()
          return { ended.wait() }
        }
      },
    ])

  private static func threadBatch(
    _ items: Int, _ start: (@escaping @Sendable () -> Void) throws -> () throws -> Void
  ) throws -> Int64 {
    try ParkedThreads.withStacksUsedUp(stackSize: stackSize) {
      let parked = ParkedThreads(items)
      var joins: [() throws -> Void] = []
      defer { for join in joins { try? join() } }
      return try parked.measure({ ProcessMemory.now().residentBytes }, stepOnly: false) { _ in
        joins.append(try start { parked.park {} })
      }
    }
  }

  /// Loops that are alive at a time; Foundation ends the program where one cannot be made.
  private static let loops = 100
  /// Descriptors that one loop needs, at most.
  private static let descriptorsOfLoop = 4

  /// Nil where the process may not have so many descriptors.
  private static let loop: Workload? =
    ProcessLimits.haveRoom(forDescriptors: loops * descriptorsOfLoop) ? loopWorkload : nil

  private static let loopWorkload = Workload(
    "memory/loop", item: "a run loop that its thread has asked for, with one timer", threads: 1,
    size: .fixed(loops), unit: .bytes,
    [
      .ours { items in
        try loopBatch(items) {
          // It never comes, and its failing would show as less memory.
          let timer = try? ThreadTimer(after: .seconds(1_000_000)) { _ in }
          if let timer { try? ThreadRunLoop.current.add(timer) }
        }
      },
      Implementation("foundation") { items in
        try loopBatch(items) {
          RunLoop.current.add(
            Foundation.Timer(timeInterval: 1_000_000, repeats: false) { _ in }, forMode: .default)
        }
      },
    ])

  private static func loopBatch(
    _ items: Int, _ make: @escaping @Sendable () -> Void
  ) throws -> Int64 {
    let parked = ParkedThreads(items)
    let done = CountdownLatch(items)
    defer { done.wait() }
    return try parked.measure({ ProcessMemory.now().heapBytes }, stepOnly: true) { _ in
      Foundation.Thread.detachNewThread {
        parked.park(make)
        done.countDown()
      }
    }
  }

  private static let timer = Workload(
    "memory/timer", item: "a timer that is due some day", threads: 1, size: .fixed(10_000),
    unit: .bytes,
    [
      .ours { items in
        try PosixThread.start {
          let loop = ThreadRunLoop.current
          var timers: [ThreadTimer] = []
          timers.reserveCapacity(items)
          return try heldBytes {
            for _ in 0..<items {
              let timer = try ThreadTimer(after: .seconds(1_000_000)) { _ in }
              try loop.add(timer)
              timers.append(timer)
            }
            try WrongResult.unless("the timers", timers.count(where: \.isScheduled), is: items)
          }
        }.join()
      },
      Implementation("foundation") { items in
        try FoundationLoop.onNewThread { loop in
          var timers: [Foundation.Timer] = []
          timers.reserveCapacity(items)
          defer { for timer in timers { timer.invalidate() } }
          return try heldBytes {
            for _ in 0..<items {
              let timer = Foundation.Timer(timeInterval: 1_000_000, repeats: false) { _ in }
              loop.add(timer, forMode: .default)
              timers.append(timer)
            }
            try WrongResult.unless("the timers", timers.count(where: \.isValid), is: items)
          }
        }
      },
      Implementation("dispatch") { items in
        let queue = DispatchQueue(label: "benchmarks")
        var timers: [any DispatchSourceTimer] = []
        timers.reserveCapacity(items)
        let done = DispatchSemaphore(value: 0)
        let cancelled = Tally()
        defer {
          for timer in timers { timer.cancel() }
          if !timers.isEmpty { done.wait() }
        }
        return heldBytes {
          for _ in 0..<items {
            let timer = DispatchSource.makeTimerSource(queue: queue)
            timer.schedule(deadline: .now() + .seconds(1_000_000))
            timer.setEventHandler {}
            timer.setCancelHandler {
              cancelled.increment()
              if cancelled.value == items { done.signal() }
            }
            timer.resume()
            timers.append(timer)
          }
          queue.sync {}
        }
      },
    ])

  private static let message = Workload(
    "memory/message", item: "a block, or a number, that waits for a loop that does not run",
    threads: 1, size: .fixed(100_000), unit: .bytes,
    [
      .ours { items in
        try PosixThread.start {
          let loop = ThreadRunLoop.current
          let ran = Tally()
          let bytes = heldBytes { for _ in 0..<items { loop.perform { ran.increment() } } }
          loop.run()
          try WrongResult.unless("the blocks that ran", ran.value, is: items)
          return bytes
        }.join()
      },
      Implementation("ours-mailbox") { items in
        let taken = Tally()
        let mailbox = Mailbox<Int> { _ in taken.increment() }
        defer { mailbox.close() }
        let bytes = heldBytes { for number in 0..<items { mailbox.send(number) } }
        try WrongResult.unless("the messages that wait", mailbox.count, is: items)
        return bytes
      },
      Implementation("foundation") { items in
        try FoundationLoop.onNewThread { loop in
          let ran = Tally()
          let bytes = heldBytes { for _ in 0..<items { loop.perform { ran.increment() } } }
          while ran.value < items, loop.run(mode: .default, before: .distantPast) {}
          return bytes
        }
      },
      Implementation("dispatch") { items in
        let queue = DispatchQueue(label: "benchmarks")
        queue.suspend()
        let ran = Tally()
        let bytes = heldBytes { for _ in 0..<items { queue.async { ran.increment() } } }
        queue.resume()
        queue.sync {}
        try WrongResult.unless("the blocks that ran", ran.value, is: items)
        return bytes
      },
    ])

  private static let operation = Workload(
    "memory/operation", item: "a closure as an operation of a queue that is suspended", threads: 1,
    size: .fixed(100_000), unit: .bytes,
    [
      .ours { items in
        let queue = ThreadOperationQueue(width: 1)
        queue.suspend()
        let ran = Tally()
        let bytes = try heldBytes { for _ in 0..<items { try queue.add { ran.increment() } } }
        queue.resume()
        queue.waitForAll()
        try WrongResult.unless("the operations that ran", ran.value, is: items)
        return bytes
      },
      Implementation("foundation") { items in
        let queue = Foundation.OperationQueue()
        queue.maxConcurrentOperationCount = 1
        queue.isSuspended = true
        let ran = Tally()
        let bytes = heldBytes { for _ in 0..<items { queue.addOperation { ran.increment() } } }
        queue.isSuspended = false
        queue.waitUntilAllOperationsAreFinished()
        try WrongResult.unless("the operations that ran", ran.value, is: items)
        return bytes
      },
      Implementation("dispatch") { items in
        let queue = DispatchQueue(label: "benchmarks")
        queue.suspend()
        let group = DispatchGroup()
        let ran = Tally()
        let bytes = heldBytes {
          for _ in 0..<items { queue.async(group: group) { ran.increment() } }
        }
        queue.resume()
        group.wait()
        try WrongResult.unless("the blocks that ran", ran.value, is: items)
        return bytes
      },
    ])

  /// By how much what the allocator has given out grew.
  private static func heldBytes<Failure: Error>(
    _ body: () throws(Failure) -> Void
  ) throws(Failure) -> Int64 {
    let before = ProcessMemory.now().heapBytes
    try body()
    return ProcessMemory.now().heapBytes - before
  }
}
