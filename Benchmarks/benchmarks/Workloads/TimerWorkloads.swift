import Dispatch
import Foundation
import Threading
import ThreadingPlatform

/// Timers of a run loop, on its own thread.
enum TimerWorkloads {
  static let all = [add, cancel, fire, exactness]

  private static let size = Workload.BatchSize.fixed(10_000)

  private static let add = Workload(
    "timer/add", item: "add a timer that is due some day", threads: 1, size: size, scales: true,
    [
      .ours { try ourBatch($0).adding },
      // As libuv's loop does, which reads the clock once in a pass.
      Implementation("ours-at") { try ourBatch($0, readsClockOnce: true).adding },
      Implementation("foundation") { try foundationBatch($0).adding },
      Implementation("dispatch") { try dispatchBatch($0).adding },
    ])

  private static let cancel = Workload(
    "timer/cancel", item: "cancel one of many timers", threads: 1, size: size, scales: true,
    [
      .ours { try ourBatch($0).cancelling },
      Implementation("foundation") { try foundationBatch($0).cancelling },
      Implementation("dispatch") { try dispatchBatch($0).cancelling },
    ])

  private static let fire = Workload(
    "timer/fire", item: "fire one of many timers that are due", threads: 1, size: size,
    scales: true,
    [
      .ours { items in
        try PosixThread.start {
          let loop = ThreadRunLoop.current
          let fired = Tally()
          let due = MonotonicInstant.now
          for _ in 0..<items { try loop.add(ThreadTimer(at: due) { _ in fired.increment() }) }
          let stopwatch = Stopwatch()
          loop.run()
          let nanoseconds = stopwatch.nanoseconds
          try WrongResult.unless("the timers that fired", fired.value, is: items)
          return nanoseconds
        }.join()
      },
      Implementation("foundation") { items in
        try FoundationLoop.onNewThread { loop in
          let fired = Tally()
          let due = Date()
          for _ in 0..<items {
            loop.add(
              Foundation.Timer(fire: due, interval: 0, repeats: false) { _ in fired.increment() },
              forMode: .default)
          }
          let stopwatch = Stopwatch()
          while fired.value < items {
            guard loop.run(mode: .default, before: .distantFuture) else { break }
          }
          let nanoseconds = stopwatch.nanoseconds
          try WrongResult.unless("the timers that fired", fired.value, is: items)
          return nanoseconds
        }
      },
      Implementation("dispatch") { items in
        var lead: UInt64 = 50_000_000
        while true {
          if let nanoseconds = try dispatchFiring(items, lead: lead) { return nanoseconds }
          lead *= 2
        }
      },
    ])

  /// How exact a timer is, on a thread that has nothing else to do.
  private static let exactness = Workload(
    "timer/exactness", item: "how far from its moment a timer of 1 ms comes", threads: 1,
    size: .fixed(20),
    [
      .ours { items in
        try PosixThread.start {
          let loop = ThreadRunLoop.current
          let away = Tally()
          for _ in 0..<items {
            let due = MonotonicInstant.now.advanced(by: .milliseconds(1))
            try loop.add(
              ThreadTimer(at: due) { _ in
                away.value += Int(abs(MonotonicInstant.now.nanoseconds - due.nanoseconds))
              })
            loop.run()
          }
          return Int64(away.value)
        }.join()
      },
      Implementation("foundation") { items in
        try FoundationLoop.onNewThread { loop in
          let away = Tally()
          for _ in 0..<items {
            let due = MonotonicInstant.now.nanoseconds + 1_000_000
            // With a date: without one, the first time is at once on Linux.
            loop.add(
              Foundation.Timer(
                fire: Date(timeIntervalSinceNow: 0.001), interval: 0, repeats: false
              ) { _ in
                away.value += Int(abs(MonotonicInstant.now.nanoseconds - due))
              }, forMode: .default)
            _ = loop.run(mode: .default, before: Date(timeIntervalSinceNow: 1))
          }
          return Int64(away.value)
        }
      },
      Implementation("dispatch") { items in
        let queue = DispatchQueue(label: "benchmarks")
        let away = Tally()
        let fired = DispatchSemaphore(value: 0)
        for _ in 0..<items {
          let due = DispatchTime.now() + .milliseconds(1)
          let timer = DispatchSource.makeTimerSource(flags: .strict, queue: queue)
          timer.schedule(deadline: due, leeway: .nanoseconds(0))
          timer.setEventHandler {
            let now = Int(DispatchTime.now().uptimeNanoseconds)
            away.value += abs(now - Int(due.uptimeNanoseconds))
            fired.signal()
          }
          timer.resume()
          fired.wait()
          timer.cancel()
        }
        return Int64(away.value)
      },
      Implementation("kernel") { items in
        var away: Int64 = 0
        for _ in 0..<items {
          let due = MonotonicInstant.now.advanced(by: .milliseconds(1))
          SystemThread.sleep(until: due)
          away += abs(MonotonicInstant.now.nanoseconds - due.nanoseconds)
        }
        return away
      },
    ])

  /// What adding and cancelling as many timers took, in nanoseconds.
  private typealias Times = (adding: Int64, cancelling: Int64)

  /// Far moments in no order, in seconds from now.
  private struct Moments {
    private var state: UInt64 = 88_172_645_463_325_252

    mutating func next() -> Int {
      state = Work.steps(1, from: state)
      return 100_000 + Int(state % 100_000)
    }
  }

  private static func ourBatch(_ items: Int, readsClockOnce: Bool = false) throws -> Times {
    try PosixThread.start {
      let loop = ThreadRunLoop.current
      var moments = Moments()
      var timers: [ThreadTimer] = []
      timers.reserveCapacity(items)
      let addingWatch = Stopwatch()
      let start = MonotonicInstant.now
      for _ in 0..<items {
        let delay = Duration.seconds(moments.next())
        let timer =
          if readsClockOnce {
            try ThreadTimer(at: start.advanced(by: delay)) { _ in }
          } else {
            try ThreadTimer(after: delay) { _ in }
          }
        try loop.add(timer)
        timers.append(timer)
      }
      let adding = addingWatch.nanoseconds
      let cancellingWatch = Stopwatch()
      for timer in timers { timer.cancel() }
      let cancelling = cancellingWatch.nanoseconds
      let scheduled = timers.count(where: \.isScheduled)
      try WrongResult.unless("the timers still scheduled", scheduled, is: 0)
      return (adding, cancelling)
    }.join()
  }

  private static func foundationBatch(_ items: Int) throws -> Times {
    try FoundationLoop.onNewThread { loop in
      var moments = Moments()
      var timers: [Foundation.Timer] = []
      timers.reserveCapacity(items)
      let addingWatch = Stopwatch()
      for _ in 0..<items {
        let timer = Foundation.Timer(
          timeInterval: Double(moments.next()), repeats: false
        ) { _ in }
        loop.add(timer, forMode: .default)
        timers.append(timer)
      }
      let adding = addingWatch.nanoseconds
      let cancellingWatch = Stopwatch()
      for timer in timers { timer.invalidate() }
      let cancelling = cancellingWatch.nanoseconds
      let valid = timers.count(where: \.isValid)
      try WrongResult.unless("the timers still valid", valid, is: 0)
      return (adding, cancelling)
    }
  }

  private static func dispatchBatch(_ items: Int) throws -> Times {
    let queue = DispatchQueue(label: "benchmarks")
    let cancelled = Tally()
    let done = DispatchSemaphore(value: 0)
    var moments = Moments()
    var timers: [any DispatchSourceTimer] = []
    timers.reserveCapacity(items)
    let addingWatch = Stopwatch()
    for _ in 0..<items {
      let timer = DispatchSource.makeTimerSource(queue: queue)
      timer.schedule(deadline: .now() + .seconds(moments.next()))
      timer.setEventHandler {}
      timer.setCancelHandler {
        cancelled.increment()
        if cancelled.value == items { done.signal() }
      }
      timer.resume()
      timers.append(timer)
    }
    queue.sync {}
    let adding = addingWatch.nanoseconds
    let cancellingWatch = Stopwatch()
    for timer in timers { timer.cancel() }
    done.wait()
    let cancelling = cancellingWatch.nanoseconds
    try WrongResult.unless("the timers cancelled", cancelled.value, is: items)
    return (adding, cancelling)
  }

  /// Dispatch has no loop that could be started once all timers are due: they are armed for a moment
  /// `lead` nanoseconds ahead, and what follows the moment is measured.
  ///
  /// - Returns: nil when the moment came before all were armed.
  private static func dispatchFiring(_ items: Int, lead: UInt64) throws -> Int64? {
    let queue = DispatchQueue(label: "benchmarks")
    let fired = Tally()
    let done = DispatchSemaphore(value: 0)
    let due = DispatchTime(uptimeNanoseconds: DispatchTime.now().uptimeNanoseconds + lead)
    for _ in 0..<items {
      queue.asyncAfter(deadline: due) {
        fired.increment()
        if fired.value == items { done.signal() }
      }
    }
    let armedInTime = DispatchTime.now() < due
    done.wait()
    let end = DispatchTime.now().uptimeNanoseconds
    try WrongResult.unless("the timers that fired", fired.value, is: items)
    return armedInTime ? Int64(end - due.uptimeNanoseconds) : nil
  }
}
