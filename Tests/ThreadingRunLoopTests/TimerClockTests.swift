import Glibc
import TestSupport
import Testing
import Threading
import ThreadingPlatform

@testable import ThreadingRunLoop

@Suite("Timers by other clocks", .endsInTime)
struct TimerClockTests {
  @Test("a timer by each of the system's clocks fires after its delay, never before")
  func systemClocks() throws {
    for clock in TimerClock.allCases {
      let (fired, reason) = try onOwnThread {
        let loop = ThreadRunLoop.current
        let fired = Shared<ThreadTimer.Firing?>(nil)
        let isLate = Shared(false)
        let due = TimerMoment.now(on: clock).advanced(by: .milliseconds(30))
        try? loop.add(
          ThreadTimer(at: due) { firing in
            isLate.set(TimerMoment.now(on: clock).nanoseconds >= due.nanoseconds)
            fired.set(firing)
          })
        let reason = loop.run()
        return (isLate.value && fired.value?.moment == due ? fired.value : nil, reason)
      }
      #expect(fired?.timer.clock == clock)
      #expect(reason == .finished)
    }
  }

  @Test("a repeating timer by the time of day keeps to its grid")
  func wallGrid() throws {
    let moments = try onOwnThread {
      let loop = ThreadRunLoop.current
      let moments = Shared<[Int64]>([])
      let first = TimerMoment.now(on: .wall).advanced(by: .milliseconds(5))
      try? loop.add(
        ThreadTimer(every: .milliseconds(5), startingAt: first) { firing in
          moments.append(firing.moment.nanoseconds - first.nanoseconds)
          if moments.value.count == 5 { firing.timer.cancel() }
        })
      loop.run()
      return moments.value
    }
    #expect(moments.count == 5)
    #expect(moments.allSatisfy { $0 % 5_000_000 == 0 })
  }

  @Test("what came due while the machine was suspended fires at once when it goes on")
  func suspension() throws {
    let world = try World()
    defer { world.end() }
    let fired = Shared<[(String, Int)]>([])
    try world.loop.add(
      ThreadTimer(at: world.moment(100, .boot)) { _ in fired.append(("boot", 0)) })
    try world.loop.add(
      ThreadTimer(every: .seconds(30), startingAt: world.moment(30, .wall)) { firing in
        fired.append(("wall", firing.missed))
        firing.timer.cancel()
      })
    let late = try ThreadTimer(at: world.moment(1_000, .monotonic)) { _ in fired.append(("no", 0)) }
    try world.loop.add(late)
    #expect(world.waitUntilAsleep())
    // Two minutes of sleep, in which the monotonic clock stands still.
    world.clocks.advance([.boot: 120, .wall: 120])
    fired.waitUntil { $0.count == 2 }
    // The two clocks have an alarm each, which may be heard in either order.
    #expect(fired.value.sorted { $0.0 < $1.0 }.map(\.0) == ["boot", "wall"])
    #expect(fired.value.sorted { $0.0 < $1.0 }.map(\.1) == [0, 3])
    #expect(late.isScheduled)
  }

  @Test("timers by the time of day follow it when it is set, forward and back")
  func clockIsSet() throws {
    let world = try World()
    defer { world.end() }
    let fired = Shared<[String]>([])
    try world.loop.add(ThreadTimer(at: world.moment(3_600, .wall)) { _ in fired.append("hour") })
    try world.loop.add(ThreadTimer(at: world.moment(60, .wall)) { _ in fired.append("minute") })
    #expect(world.waitUntilAsleep())
    world.clocks.advance([.wall: 120])
    fired.waitUntil { $0.count == 1 }
    #expect(world.waitUntilAsleep())
    // An hour back: what is due "in an hour" is now two hours away.
    world.clocks.advance([.wall: -3_600])
    #expect(world.waitUntilAsleep())
    // What is added for a moment that the clock has shown before fires when it shows it again.
    try world.loop.add(ThreadTimer(at: world.moment(-3_000, .wall)) { _ in fired.append("again") })
    world.clocks.advance([.wall: 600])
    fired.waitUntil { $0.count == 2 }
    #expect(world.waitUntilAsleep())
    #expect(fired.value == ["minute", "again"])
    world.clocks.advance([.wall: 7_000])
    fired.waitUntil { $0.count == 3 }
    #expect(fired.value == ["minute", "again", "hour"])
  }

  @Test("a timer that is set to another moment has its alarm set, and in other modes it is off")
  func alarmSettings() throws {
    let world = try World()
    defer { world.end() }
    let timer = try ThreadTimer(at: world.moment(100, .boot)) { _ in }
    try world.loop.add(timer)
    #expect(eventually { world.clocks.alarm(.boot) == world.moment(100, .boot).nanoseconds })
    timer.reschedule(at: world.moment(50, .boot))
    #expect(eventually { world.clocks.alarm(.boot) == world.moment(50, .boot).nanoseconds })
    // Of another clock: as far from now.
    timer.reschedule(at: .now.advanced(by: .seconds(10)))
    #expect(eventually { world.clocks.alarm(.boot) != world.moment(50, .boot).nanoseconds })
    let mode = ThreadRunLoop.Mode("without alarms")
    let inner = ExitFlag()
    world.loop.perform { ThreadRunLoop.current.run(until: inner, mode: mode) }
    #expect(eventually { world.clocks.alarm(.boot) == nil })
    inner.set()
    #expect(eventually { world.clocks.alarm(.boot) != nil })
    timer.cancel()
    world.loop.wakeUp()
    #expect(eventually { world.clocks.alarm(.boot) == nil })
  }

  @Test("a moment of another clock than the timer's stops the program")
  func otherClock() async {
    await #expect(processExitsWith: .failure) {
      let timer = try ThreadTimer(after: .seconds(1), on: .boot) { _ in }
      timer.reschedule(at: .now(on: .wall))
    }
  }

  @Test("out of descriptors, a timer by another clock is refused and can be added later")
  func outOfDescriptors() async {
    await #expect(processExitsWith: .success) {
      try onOwnThread {
        let loop = ThreadRunLoop.current
        var before = rlimit()
        _ = unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &before)
        var none = rlimit(rlim_cur: 0, rlim_max: before.rlim_max)
        _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &none)
        let fired = Shared(0)
        guard
          let timer = try? ThreadTimer(after: .milliseconds(1), on: .boot, { _ in fired.set(1) })
        else { fatalError("the timer was refused") }
        do throws(ThreadingError) {
          try loop.add(timer)
          fatalError("it was not refused")
        } catch {
          precondition(error.codeName == "EMFILE", "\(error)")
        }
        _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &before)
        try? loop.add(timer)
        precondition(loop.run() == .finished && fired.value == 1)
      }
    }
  }

  @Test("the descriptors of the alarms go with the loop")
  func freed() async {
    await #expect(processExitsWith: .success) {
      // Once, for what the process makes once.
      func useAlarms() throws {
        try onOwnThread {
          for clock in TimerClock.allCases {
            try? ThreadRunLoop.current.add(ThreadTimer(after: .seconds(100), on: clock) { _ in })
          }
          ThreadRunLoop.current.poll()
        }
      }
      try useAlarms()
      let before = ProcessFigures.now().descriptors
      for _ in 0..<20 { try useAlarms() }
      // Dispatch may have opened a few of its own meanwhile.
      precondition(ProcessFigures.now().descriptors < before + 20)
    }
  }

  @Test("moments of a clock add up without overflow")
  func moments() {
    let wall = TimerMoment.wall(sinceEpoch: .seconds(10))
    #expect(wall.nanoseconds == 10_000_000_000 && wall.clock == .wall)
    #expect(wall.advanced(by: .seconds(-20)).nanoseconds == -10_000_000_000)
    #expect(wall.advanced(by: .seconds(Int64.max)).nanoseconds == .max)
    #expect(TimerMoment.boot(sinceStart: .seconds(-1)).nanoseconds == -1_000_000_000)
    let now = MonotonicInstant.now
    #expect(TimerMoment(now) == TimerMoment(nanoseconds: now.nanoseconds, on: .monotonic))
    // The machine has been up no less than the monotonic clock has gone.
    #expect(TimerMoment.now(on: .boot).nanoseconds >= now.nanoseconds)
  }
}

/// A loop whose clocks stand still but for what a test has them do.
private final class World: Sendable {
  let clocks = FakeClocks()
  private let thread: LoopThread
  var loop: ThreadRunLoop { thread.loop }

  init() throws {
    thread = try LoopThread()
    let clocks = clocks
    thread.loop.items.withLock { $0.timers.clocks = clocks }
  }

  func moment(_ seconds: Int, _ clock: TimerClock) -> TimerMoment {
    TimerMoment(
      nanoseconds: FakeClocks.start.nanoseconds + Int64(seconds) * 1_000_000_000, on: clock)
  }

  /// Waits until the loop has seen everything so far and sleeps.
  func waitUntilAsleep() -> Bool {
    try? loop.performAndWait {}
    return thread.waitUntilAsleep()
  }

  func end() { thread.end() }
}

/// Clocks that a test moves.
private final class FakeClocks: TimerClocks {
  /// What all of them show at first: near enough to what the monotonic clock shows, since the loop's
  /// own sleeps go by that.
  static let start = MonotonicInstant.now

  private let shown = Shared<[TimerClock: Int64]>([:])
  private let alarms = Shared<[TimerClock: FakeAlarm]>([:])

  func nanoseconds(of clock: TimerClock) -> Int64 {
    shown.value[clock] ?? Self.start.nanoseconds
  }

  func makeAlarm(on clock: TimerClock) throws(ThreadingError) -> any ClockAlarm {
    let alarm = FakeAlarm()
    alarms.change { $0[clock] = alarm }
    return alarm
  }

  /// Moves clocks by seconds, and rings what rings then: alarms that are due, and that of the time of
  /// day, which rings whenever that is set.
  func advance(_ seconds: [TimerClock: Int64]) {
    for (clock, change) in seconds {
      let now = shown.change { shown in
        shown[clock, default: Self.start.nanoseconds] += change * 1_000_000_000
        return shown[clock]!
      }
      guard let alarm = alarms.value[clock] else { continue }
      if clock == .wall || (alarm.setting.value ?? .max) <= now { alarm.ring() }
    }
  }

  /// What an alarm is set to.
  func alarm(_ clock: TimerClock) -> Int64? { alarms.value[clock]?.setting.value }
}

private final class FakeAlarm: ClockAlarm {
  let setting = Shared<Int64?>(nil)
  private let pipe = Pipe()
  var descriptor: CInt { pipe.reader }

  func set(to nanoseconds: Int64?) { setting.set(nanoseconds) }
  func clear() { while readByte(pipe.reader) != nil {} }
  func ring() { pipe.write() }
}
