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

  @Test("set back while no timer goes by it, the time of day holds for the next one all the same")
  func setBackBetween() throws {
    let world = try World()
    defer { world.end() }
    let fired = Shared(0)
    try world.loop.add(ThreadTimer(at: world.moment(10, .wall)) { _ in fired.set(1) })
    #expect(world.waitUntilAsleep())
    world.clocks.advance([.wall: 10])
    fired.waitUntil { $0 == 1 }
    #expect(world.waitUntilAsleep())
    world.clocks.advance([.wall: -3_600])
    #expect(world.waitUntilAsleep())
    try world.loop.add(ThreadTimer(at: world.moment(-3_580, .wall)) { _ in fired.set(2) })
    #expect(
      eventually { world.clocks.alarm(.wall) == world.moment(-3_580, .wall).nanoseconds })
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

  @Test(
    "the descriptors of the alarms go with the loop",
    .disabled(if: ThreadSanitizer.isActive, "it lets a child of a process with threads start none"))
  func freed() async {
    await #expect(processExitsWith: .success) {
      // A forked child has one thread: nobody else opens descriptors there.
      let status = inForkedChild {
        let before = ProcessFigures.now().descriptors
        for _ in 0..<20 {
          try? onOwnThread {
            let loop = ThreadRunLoop.current
            for clock in TimerClock.allCases {
              try? loop.add(ThreadTimer(after: .seconds(100), on: clock) { _ in })
            }
            loop.poll()
            // epoll, its wake, two alarms.
            guard ProcessFigures.now().descriptors == before + 4 else { fatalError("not four") }
          }
        }
        return ProcessFigures.now().descriptors == before
      }
      precondition(status == 0, "\(status)")
    }
  }

  @Test("an alarm that has rung is set anew, though the moment that it is for has stayed the same")
  func setAnew() throws {
    let world = try World()
    defer { world.end() }
    let due = world.moment(100, .wall)
    try world.loop.add(ThreadTimer(at: due) { _ in })
    #expect(world.waitUntilAsleep())
    // It rings in time, but before the loop looks the clock is set back by an hour.
    world.clocks.advance([.wall: 100], andBack: true)
    #expect(eventually { world.clocks.alarm(.wall) == due.nanoseconds })
    #expect(world.waitUntilAsleep())
  }

  @Test(
    "where the boot clock is a day ahead, timers go by it",
    .enabled(if: TimeNamespace.isAllowed, "only root may make a time namespace"))
  func timeNamespace() async {
    await #expect(processExitsWith: .success) {
      precondition(TimeNamespace.prepare(bootAhead: 86_400))
      // The next child is in it.
      let status = inForkedChild {
        let loop = ThreadRunLoop.current
        let due = TimerMoment.now(on: .boot).advanced(by: .milliseconds(20))
        guard due.nanoseconds - MonotonicInstant.now.nanoseconds > 86_400_000_000_000 else {
          return false
        }
        let fired = Shared<ThreadTimer.Firing?>(nil)
        let isLate = Shared(false)
        let timer = try? ThreadTimer(at: due) { firing in
          isLate.set(TimerMoment.now(on: .boot).nanoseconds >= due.nanoseconds)
          fired.set(firing)
        }
        guard let timer, (try? loop.add(timer, in: [ownMode])) != nil else { return false }
        // Both are told on the monotonic clock, from which the other one's day is taken out.
        let start = MonotonicInstant.now
        guard let next = loop.nextDeadline(in: ownMode), next < start.advanced(by: .seconds(1))
        else {
          return false
        }
        guard loop.run(mode: ownMode, until: start.advanced(by: .seconds(25))) == .finished,
          let firing = fired.value, isLate.value
        else { return false }
        return firing.moment == due && firing.scheduled < start.advanced(by: .seconds(1))
      }
      precondition(status == 0, "\(status)")
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

/// Clocks of their own for child processes.
private enum TimeNamespace {
  private static let flag: CInt = 0x80

  private static func unshare() -> Bool {
    typealias Unshare = @convention(c) (CInt) -> CInt
    // The Glibc module does not show it.
    guard let address = unsafe dlsym(nil, "unshare") else { return false }
    return unsafe unsafeBitCast(address, to: Unshare.self)(flag) == 0
  }

  /// Whether this process may have some made; tried in a child, so nothing is changed.
  static let isAllowed = inForkedChild { prepare(bootAhead: 1) } == 0

  /// Has the next children of this thread begin with a boot clock that is so many seconds ahead.
  static func prepare(bootAhead seconds: Int) -> Bool {
    guard unshare(), let file = unsafe fopen("/proc/thread-self/timens_offsets", "w") else {
      return false
    }
    let written = unsafe fputs("boottime \(seconds) 0\n", file)
    return unsafe fclose(file) == 0 && written >= 0
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
  /// day, which rings whenever that is set. If `andBack`, a clock shows what it showed before when it
  /// is next looked at.
  func advance(_ seconds: [TimerClock: Int64], andBack: Bool = false) {
    for (clock, change) in seconds {
      let now = shown.change { shown in
        let now = shown[clock, default: Self.start.nanoseconds] + change * 1_000_000_000
        if !andBack { shown[clock] = now }
        return now
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
  /// Rings once for each time that it is set.
  func ring() {
    setting.set(nil)
    pipe.write()
  }
}
