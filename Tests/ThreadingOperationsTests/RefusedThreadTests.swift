import Glibc
import TestSupport
import Testing
import Threading

/// Takes away the address space that a new thread's stack would need, and gives it back.
private enum AddressSpace {
  static func limit(toPresentPlus bytes: UInt) {
    var pages: UInt = 0
    if let file = unsafe fopen("/proc/self/statm", "r") {
      var text = [CChar](repeating: 0, count: 64)
      if unsafe fgets(&text, 64, file) != nil { pages = unsafe UInt(strtoul(text, nil, 10)) }
      unsafe fclose(file)
    }
    set(pages * UInt(sysconf(CInt(_SC_PAGESIZE))) + bytes)
  }

  static func unlimit() { set(.max) }

  private static func set(_ bytes: UInt) {
    var limit = rlimit()
    unsafe getrlimit(__rlimit_resource_t(UInt32(RLIMIT_AS.rawValue)), &limit)
    limit.rlim_cur = rlim_t(bytes)
    unsafe setrlimit(__rlimit_resource_t(UInt32(RLIMIT_AS.rawValue)), &limit)
  }
}

/// What the child processes do: 0 if all was right, or the number of what was not.
private enum Trial {
  static func recovery() throws -> Int32 {
    // The pool's one thread is kept busy, and a second is refused.
    let pool = try ThreadPool(
      maximumThreads: 2, attributes: ThreadAttributes(stackSize: 512 << 20))
    // So that it takes the first operation and no second thread is started for that.
    guard eventually({ pool.idleThreadCount == 1 }) else { return 7 }
    let queue = ThreadOperationQueue(pool: pool)
    let gate = Gate()
    let first = try queue.add { gate.pass() }
    guard eventually({ first.isExecuting }) else { return 1 }
    AddressSpace.limit(toPresentPlus: 64 << 20)
    let second = try queue.add {}
    guard !second.wait(for: .milliseconds(50)) else { return 2 }
    guard pool.threadCount == 1 else { return 3 }
    AddressSpace.unlimit()
    guard second.wait(for: .seconds(30)) else { return 4 }
    guard first.isExecuting, pool.threadCount == 2 else { return 5 }
    gate.open()
    return queue.waitForAll(for: .seconds(30)) ? 0 : 6
  }

  /// As before, but nobody waits: the thread that becomes free does all.
  static func recoveryByFreeThread() throws -> Int32 {
    let pool = try ThreadPool(
      maximumThreads: 2, attributes: ThreadAttributes(stackSize: 512 << 20))
    // So that it takes the first operation and no second thread is started for that.
    guard eventually({ pool.idleThreadCount == 1 }) else { return 7 }
    let queue = ThreadOperationQueue(pool: pool)
    let gate = Gate()
    let first = try queue.add { gate.pass() }
    guard eventually({ first.isExecuting }) else { return 1 }
    AddressSpace.limit(toPresentPlus: 64 << 20)
    let second = try queue.add {}
    gate.open()
    return eventually({ second.isFinished }) ? 0 : 2
  }

  /// Nobody waits, and no thread becomes free.
  static func recoveryByItself() throws -> Int32 {
    let pool = try ThreadPool(
      maximumThreads: 2, attributes: ThreadAttributes(stackSize: 512 << 20))
    guard eventually({ pool.idleThreadCount == 1 }) else { return 7 }
    let queue = ThreadOperationQueue(pool: pool)
    let gate = Gate()
    let first = try queue.add { gate.pass() }
    guard eventually({ first.isExecuting }) else { return 1 }
    AddressSpace.limit(toPresentPlus: 64 << 20)
    let second = try queue.add {}
    guard pool.threadCount == 1 else { return 2 }
    AddressSpace.unlimit()
    guard eventually({ second.isFinished }) else { return 3 }
    guard first.isExecuting else { return 4 }
    gate.open()
    return queue.waitForAll(for: .seconds(30)) ? 0 : 5
  }

  static func refusal() throws -> Int32 {
    AddressSpace.limit(toPresentPlus: 64 << 20)
    do throws(ThreadingError) {
      _ = try ThreadPool(attributes: ThreadAttributes(stackSize: 512 << 20))
      return 1
    } catch {
      return error.code == EAGAIN ? 0 : 2
    }
  }
}

/// Not under the thread sanitizer, which takes terabytes of address space.
@Suite("Refused threads", .endsInTime, .disabled(if: Scale.isSanitized))
struct RefusedThreadTests {
  @Test("When no second thread can be started, a waiter has it started once one can")
  func recovers() async {
    await #expect(processExitsWith: .success) { exit(try Trial.recovery()) }
  }

  @Test("When no second thread can be started, the first one does the work when it is free")
  func servedByFirst() async {
    await #expect(processExitsWith: .success) { exit(try Trial.recoveryByFreeThread()) }
  }

  @Test("When no second thread can be started, the pool tries again though nobody waits")
  func triesAgain() async {
    await #expect(processExitsWith: .success) { exit(try Trial.recoveryByItself()) }
  }

  @Test("A pool whose first thread is refused is refused")
  func refusedAtOnce() async {
    await #expect(processExitsWith: .success) { exit(try Trial.refusal()) }
  }
}
