import Dispatch
import Foundation
import Glibc
import Threading
import ThreadingPlatform

/// What a loop and a pool do while there is nothing to do: each time that one of their threads runs
/// keeps a processor from resting.
enum IdleWorkloads {
  static let all = [loop, pool]

  private static let item = "a fifth of a second without work"
  private static let duration = Duration.milliseconds(200)

  private static let loop = Workload(
    "idle/loop", item: item + ", with a timer and a descriptor to watch", threads: 1,
    size: .fixed(1), unit: .wakeUps,
    [
      .ours { items in
        let descriptor = try EventDescriptor()
        let loop = try OurLoop.start(on: nil)
        defer { loop.stop() }
        let ran = Counter()
        let source = DescriptorSource(descriptor.descriptor, for: .readable) { _, _ in
          ran.increment()
        }
        defer { source.cancel() }
        try loop.add(source)
        try loop.add(ThreadTimer(after: .seconds(3_600)) { _ in ran.increment() })
        return try wakeUps(items, of: loop, done: ran, times: 0)
      },
      Implementation("foundation") { items in
        let loop = try FoundationLoop.start(on: nil)
        defer { loop.stop() }
        let ran = Counter()
        loop.perform {
          // With a date: without one, the first time is at once on Linux.
          RunLoop.current.add(
            Foundation.Timer(
              fire: Date(timeIntervalSinceNow: 3_600), interval: 0, repeats: false
            ) { _ in ran.increment() },
            forMode: .default)
        }
        return try wakeUps(items, of: loop, done: ran, times: 0)
      },
      Implementation("dispatch") { items in
        let descriptor = try EventDescriptor()
        let queue = DispatchQueue(label: "benchmarks")
        let ran = Counter()
        let source = DispatchSource.makeReadSource(
          fileDescriptor: descriptor.descriptor, queue: queue)
        source.setEventHandler { ran.increment() }
        let gone = DispatchSemaphore(value: 0)
        source.setCancelHandler { gone.signal() }
        source.resume()
        let timer = DispatchSource.makeTimerSource(queue: queue)
        timer.schedule(deadline: .now() + 3_600)
        timer.setEventHandler { ran.increment() }
        timer.resume()
        defer {
          timer.cancel()
          source.cancel()
          gone.wait()
        }
        queue.sync {}
        return try wakeUps(items, done: ran, times: 0)
      },
    ])

  private static let pool = Workload(
    "idle/pool", item: item + ", of threads that have had some", threads: 2, size: .fixed(1),
    unit: .wakeUps,
    [
      .ours { items in
        let ran = Counter()
        let pool = try ThreadPool(maximumThreads: 2)
        defer { pool.shutDown() }
        let done = CountdownLatch(2)
        for _ in 0..<2 {
          try pool.run {
            ran.increment()
            done.countDown()
          }
        }
        done.wait()
        return try wakeUps(items, done: ran, times: 2)
      },
      Implementation("dispatch") { items in
        let ran = Counter()
        let group = DispatchGroup()
        for _ in 0..<2 { DispatchQueue.global().async(group: group) { ran.increment() } }
        group.wait()
        return try wakeUps(items, done: ran, times: 2)
      },
    ])

  private static func wakeUps(
    _ items: Int, of loop: some ServedLoop, done ran: Counter, times: Int
  ) throws -> Int64 {
    // What was handed over before has been done.
    let served = DispatchSemaphore(value: 0)
    loop.perform { served.signal() }
    served.wait()
    return try wakeUps(items, done: ran, times: times)
  }

  /// How often threads of the process, without the calling one, which sleeps, gave up a processor.
  private static func wakeUps(
    _ items: Int, done ran: Counter, times: Int
  ) throws -> Int64 {
    // Who has just worked may look out for more before it sleeps.
    SystemThread.sleep(until: .now.advanced(by: .milliseconds(20)))
    let before = ProcessUsage.now().voluntarySwitches - ofCurrentThread()
    for _ in 0..<items { SystemThread.sleep(until: .now.advanced(by: duration)) }
    let wakeUps = ProcessUsage.now().voluntarySwitches - ofCurrentThread() - before
    try WrongResult.unless("what was done", ran.value, is: times)
    return max(0, wakeUps)
  }

  /// `RUSAGE_THREAD`, which the Glibc module does not show.
  private static let rusageThread: CInt = 1

  private static func ofCurrentThread() -> Int64 {
    var usage = rusage()
    let code = unsafe getrusage(rusageThread, &usage)
    precondition(code == 0, "getrusage: errno \(errno)")
    return Int64(usage.ru_nvcsw)
  }
}
