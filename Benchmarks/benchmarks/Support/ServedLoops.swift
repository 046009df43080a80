import BenchmarkSupport
import Dispatch
import Foundation
import Glibc
import Threading
import ThreadingPlatform

/// A thread that serves what others hand it, until it is stopped.
protocol ServedLoop: Sendable {
  /// Starts the thread; it serves when this returns, on the given processor.
  static func start(on processor: Int?) throws -> Self
  /// Has `block` run on the thread, after those handed over before.
  func perform(_ block: @escaping @Sendable () -> Void)
  /// Ends the thread. Nothing may be handed over afterwards.
  func stop()
}

/// A thread of the toolkit that runs its run loop.
final class OurLoop: ServedLoop {
  private let loop: ThreadRunLoop
  private let thread: PosixThread<Void, Never>
  private let exitFlag: ExitFlag

  private init(_ loop: ThreadRunLoop, _ thread: PosixThread<Void, Never>, _ exitFlag: ExitFlag) {
    self.loop = loop
    self.thread = thread
    self.exitFlag = exitFlag
  }

  static func start(on processor: Int?) throws -> OurLoop {
    let exitFlag = ExitFlag()
    let started = Handover<ThreadRunLoop>()
    let thread = try PosixThread.start {
      if let processor { ProcessorBinding.bindCurrentThread(to: processor) }
      started.give(.current)
      ThreadRunLoop.current.run(until: exitFlag)
    }
    return OurLoop(started.take(), thread, exitFlag)
  }

  func perform(_ block: @escaping @Sendable () -> Void) { loop.perform(block) }

  /// Has the loop serve a source as well.
  func add(_ source: InputSource) throws(ThreadingError) { try loop.add(source) }

  /// Has the loop serve a timer as well.
  func add(_ timer: ThreadTimer) throws(ThreadingError) { try loop.add(timer) }

  /// Has the loop look out for work for a while before it sleeps.
  func looksOut(for limit: Duration) { loop.spinLimit = limit }

  func stop() {
    exitFlag.set()
    do throws(ThreadingError) {
      try thread.join()
    } catch {
      fatalError("OurLoop.stop: \(error)")
    }
  }
}

/// The same, with loops that look out before they sleep.
final class OurSpinningLoop: ServedLoop {
  private let served: OurLoop

  private init(_ served: OurLoop) { self.served = served }

  static func start(on processor: Int?) throws -> OurSpinningLoop {
    let served = try OurLoop.start(on: processor)
    served.looksOut(for: .microseconds(50))
    return OurSpinningLoop(served)
  }

  func perform(_ block: @escaping @Sendable () -> Void) { served.perform(block) }
  func stop() { served.stop() }
}

/// A thread of Foundation that runs its run loop.
///
/// `RunLoop.perform` does not wake a sleeping loop on Linux. What does is `CFRunLoopWakeUp`, which
/// the library exports but Swift does not declare; or a timer that is due, the one public way.
// SAFETY of @unchecked: nothing of it changes; those methods of the loop that are called from other
// threads are those that Foundation allows from there.
final class FoundationLoop: ServedLoop, @unchecked Sendable {
  private let loop: RunLoop
  private let handle: CoreFoundationLoop?
  private let stopped = Flag()
  private let ended = DispatchSemaphore(value: 0)

  /// Whether the C functions behind the run loop can be found in the process.
  static var canWake: Bool { CoreFoundationLoop.functions != nil }

  /// On the thread that is to serve.
  private init() {
    loop = RunLoop.current
    handle = CoreFoundationLoop.ofCurrentThread
  }

  static func start(on processor: Int?) throws -> FoundationLoop {
    let started = Handover<FoundationLoop>()
    Foundation.Thread.detachNewThread {
      if let processor { ProcessorBinding.bindCurrentThread(to: processor) }
      let served = FoundationLoop()
      // A loop without timer or source ends its run at once.
      let keepAlive = Foundation.Timer(fire: .distantFuture, interval: 1e9, repeats: true) { _ in }
      served.loop.add(keepAlive, forMode: .default)
      started.give(served)
      served.serve()
      keepAlive.invalidate()
      served.ended.signal()
    }
    return started.take()
  }

  private func serve() {
    while !stopped.isSet {
      // A timer that fires does not end a run. Where nothing else can, the run ends by itself.
      let limit = handle == nil ? Date(timeIntervalSinceNow: 0.05) : .distantFuture
      _ = loop.run(mode: .default, before: limit)
    }
  }

  func perform(_ block: @escaping @Sendable () -> Void) {
    loop.perform(block)
    handle?.wakeUp()
  }

  /// Has a block run by way of a timer that is due.
  func performByTimer(_ block: @escaping @Sendable () -> Void) {
    loop.add(Foundation.Timer(timeInterval: 0, repeats: false) { _ in block() }, forMode: .default)
  }

  /// Runs `body` on a thread of its own with that thread's run loop, which nobody else serves.
  static func onNewThread<Result: Sendable>(
    _ body: @escaping @Sendable (RunLoop) throws -> Result
  ) throws -> Result {
    let answer = Handover<Swift.Result<Result, any Error>>()
    Foundation.Thread.detachNewThread { answer.give(Swift.Result { try body(.current) }) }
    return try answer.take().get()
  }

  func stop() {
    performByTimer { [stopped, handle] in
      stopped.set()
      handle?.stop()
    }
    ended.wait()
  }

  /// Touched by the loop's thread alone.
  private final class Flag: @unchecked Sendable {
    private(set) var isSet = false
    func set() { isSet = true }
  }
}

/// The same loop, woken by public means only.
final class FoundationLoopByTimer: ServedLoop {
  private let served: FoundationLoop

  private init(_ served: FoundationLoop) { self.served = served }

  static func start(on processor: Int?) throws -> FoundationLoopByTimer {
    FoundationLoopByTimer(try FoundationLoop.start(on: processor))
  }

  func perform(_ block: @escaping @Sendable () -> Void) { served.performByTimer(block) }
  func stop() { served.stop() }
}

/// A thread's run loop as the C functions behind Foundation's know it.
// SAFETY of @safe and @unchecked: the functions may be called from any thread, for a loop whose
// thread lives; only such loops are in one.
@safe
private struct CoreFoundationLoop: @unchecked Sendable {
  private let loop: UnsafeMutableRawPointer
  private let functions: Functions

  @safe
  struct Functions {
    typealias GetCurrent = @convention(c) () -> UnsafeMutableRawPointer?
    typealias Act = @convention(c) (UnsafeMutableRawPointer) -> Void

    let getCurrent: GetCurrent
    let wakeUp: Act
    let stop: Act
  }

  /// The library exports them, Swift does not declare them; nil where there are none.
  static let functions: Functions? = {
    guard let getCurrent = unsafe dlsym(nil, "CFRunLoopGetCurrent"),
      let wakeUp = unsafe dlsym(nil, "CFRunLoopWakeUp"),
      let stop = unsafe dlsym(nil, "CFRunLoopStop")
    else { return nil }
    return unsafe Functions(
      getCurrent: unsafeBitCast(getCurrent, to: Functions.GetCurrent.self),
      wakeUp: unsafeBitCast(wakeUp, to: Functions.Act.self),
      stop: unsafeBitCast(stop, to: Functions.Act.self))
  }()

  static var ofCurrentThread: CoreFoundationLoop? {
    guard let functions = functions, let loop = unsafe functions.getCurrent() else { return nil }
    return unsafe CoreFoundationLoop(loop: loop, functions: functions)
  }

  func wakeUp() { unsafe functions.wakeUp(loop) }
  func stop() { unsafe functions.stop(loop) }
}

/// A serial queue of Dispatch. It has no thread of its own: blocks run on whatever thread Dispatch
/// gives it, so it cannot be bound to a processor either.
final class DispatchLoop: ServedLoop {
  private let queue = DispatchQueue(label: "benchmarks")

  static func start(on processor: Int?) throws -> DispatchLoop { DispatchLoop() }

  func perform(_ block: @escaping @Sendable () -> Void) { queue.async(execute: block) }
  func stop() { queue.sync {} }
}
