import Dispatch
import Foundation
import FoundationNetworking
import Glibc
import TestSupport
import Testing
import ThreadingFoundation
import ThreadingPlatform
import XCTest

@Suite("FoundationLoopBridge", .endsInTime)
struct FoundationLoopBridgeTests {
  @Test("Foundation's timers fire while the toolkit's loop runs, keep it going, and end it")
  func timers() throws {
    let log = Log()
    let ours = Log()
    try concurrently(1) { _ in
      let bridge = try? FoundationLoopBridge()
      let count = Counter()
      let again = Foundation.Timer(
        fire: Date(timeIntervalSinceNow: 0.005), interval: 0.005, repeats: true
      ) { timer in
        guard count.next() == 3 else { return }
        log.add("thrice")
        timer.invalidate()
        let due = Date(timeIntervalSinceNow: 0.02)
        let once = Foundation.Timer(fire: due, interval: 0, repeats: false) { _ in
          log.add("once \(Date() >= due)")
        }
        RunLoop.current.add(once, forMode: .default)
      }
      RunLoop.current.add(again, forMode: .default)
      // Ours does not keep the run going to the end of Foundation's.
      try? ThreadRunLoop.current.add(ThreadTimer(after: .milliseconds(1)) { _ in ours.add("ours") })
      log.add("\(ThreadRunLoop.current.run())")
      bridge?.cancel()
    }
    #expect(ours.lines == ["ours"])
    #expect(log.lines == ["thrice", "once true", "finished"])
  }

  @Test("a timer that a handler adds to Foundation's loop is served from then on")
  func addedLater() throws {
    let log = Log()
    try concurrently(1) { _ in
      guard let bridge = try? FoundationLoopBridge() else { return }
      let flag = ExitFlag()
      ThreadRunLoop.current.perform {
        let timer = Foundation.Timer(
          fire: Date(timeIntervalSinceNow: 0.005), interval: 0, repeats: false
        ) { _ in
          log.add("fired")
          flag.set()
        }
        RunLoop.current.add(timer, forMode: .default)
      }
      log.add(
        "\(ThreadRunLoop.current.run(until: flag, deadline: .now.advanced(by: .seconds(30))))")
      bridge.cancel()
    }
    #expect(log.lines == ["fired", "flagSet"])
  }

  @Test(
    "blocks of Foundation's loop run; from another thread at once if they go through the bridge")
  func blocks() throws {
    let log = Log()
    let ready = Handed<(FoundationLoopBridge, ExitFlag)>()
    let join = try inBackground {
      guard let bridge = try? FoundationLoopBridge() else { return }
      let flag = ExitFlag()
      RunLoop.current.perform { log.add("own block") }
      ready.give((bridge, flag))
      ThreadRunLoop.current.run(until: flag, deadline: .now.advanced(by: .seconds(30)))
      bridge.cancel()
    }
    let (bridge, flag) = ready.take()
    #expect(eventually { bridge.loop.isAsleep && log.lines == ["own block"] })
    bridge.perform {
      log.add("from outside \(bridge.loop.isCurrent)")
      flag.set()
    }
    join()
    #expect(log.lines == ["own block", "from outside true"])
  }

  @Test("with a latency, what Foundation does not show is served within it; without, it waits")
  func latency() throws {
    for latency in [nil, Duration.milliseconds(5)] {
      let log = Log()
      let ready = Handed<(FoundationLoopBridge, ExitFlag, Handed<RunLoopBox>)>()
      let join = try inBackground {
        guard let bridge = try? FoundationLoopBridge(latency: latency) else { return }
        let flag = ExitFlag()
        let box = Handed<RunLoopBox>()
        box.give(RunLoopBox(value: .current))
        ready.give((bridge, flag, box))
        ThreadRunLoop.current.run(until: flag, deadline: .now.advanced(by: .seconds(30)))
        bridge.cancel()
      }
      let (bridge, flag, box) = ready.take()
      #expect(eventually { bridge.loop.isAsleep })
      // What Foundation itself offers to other threads does not wake anything.
      box.take().value.perform { log.add("served") }
      if latency == nil {
        #expect(log.lines.isEmpty)
        bridge.wakeUp()
      }
      #expect(eventually { log.lines == ["served"] })
      flag.set()
      join()
    }
    #expect(throws: ThreadingError.self) { try FoundationLoopBridge(latency: .microseconds(999)) }
  }

  @Test("a bridge that is cancelled, or let go of, serves no more and keeps no run going")
  func cancelled() throws {
    let log = Log()
    try concurrently(1) { _ in
      let timer = Foundation.Timer(
        fire: Date(timeIntervalSinceNow: 0.001), interval: 0, repeats: false
      ) { _ in log.add("fired") }
      RunLoop.current.add(timer, forMode: .default)
      do {
        let bridge = try? FoundationLoopBridge()
        bridge?.cancel()
      }
      _ = try? FoundationLoopBridge(latency: .milliseconds(1))
      log.add("\(ThreadRunLoop.current.run())")
      timer.invalidate()
    }
    #expect(log.lines == ["finished"])
  }
}

// XCTest, since it runs its tests on the main thread.
final class MainFoundationLoopTests: XCTestCase {
  func testACompletionOfURLSessionComesToTheMainLoop() throws {
    let server = try OneAnswerServer()
    let flag = ExitFlag()
    let log = Log()
    let session = URLSession(
      configuration: .ephemeral, delegate: nil, delegateQueue: OperationQueue.main)
    let url = try XCTUnwrap(URL(string: "http://127.0.0.1:\(server.port)/"))
    session.dataTask(with: url) { data, _, error in
      log.add(
        "\(String(decoding: data ?? Data(), as: UTF8.self)) on main: \(ThreadRunLoop.main.isCurrent)"
          + (error.map { " \($0)" } ?? ""))
      flag.set()
    }.resume()
    let deadline = MonotonicInstant.now.advanced(by: .seconds(40))
    XCTAssertEqual(ThreadRunLoop.main.run(until: flag, deadline: deadline), .flagSet)
    XCTAssertEqual(log.lines, ["hello on main: true"])
    session.invalidateAndCancel()
    server.end()
  }

  func testATimerOfTheMainRunLoopIsServedBesideTheMainQueue() throws {
    let bridge = try FoundationLoopBridge()
    let flag = ExitFlag()
    let log = Log()
    let timer = Foundation.Timer(
      fire: Date(timeIntervalSinceNow: 0.01), interval: 0, repeats: false
    ) { _ in
      log.add("timer")
      DispatchQueue.main.async {
        log.add("queue")
        flag.set()
      }
    }
    RunLoop.main.add(timer, forMode: .default)
    let deadline = MonotonicInstant.now.advanced(by: .seconds(40))
    XCTAssertEqual(ThreadRunLoop.main.run(until: flag, deadline: deadline), .flagSet)
    XCTAssertEqual(log.lines, ["timer", "queue"])
    bridge.cancel()
  }

  func testTheToolkitsLoopIsServedInsideFoundationsByATimer() {
    let log = Log()
    ThreadRunLoop.main.perform { log.add("ours") }
    let timer = Foundation.Timer(timeInterval: 0.005, repeats: true) { _ in
      ThreadRunLoop.main.poll()
    }
    RunLoop.main.add(timer, forMode: .default)
    let limit = Date(timeIntervalSinceNow: 40)
    while log.lines.isEmpty, limit.timeIntervalSinceNow > 0 {
      _ = RunLoop.main.run(mode: .default, before: Date(timeIntervalSinceNow: 0.05))
    }
    timer.invalidate()
    XCTAssertEqual(log.lines, ["ours"])
  }
}

/// Lines under a lock.
private final class Log: Sendable {
  private let storage = Locked<[String]>([])
  var lines: [String] { storage.withLock { $0 } }
  func add(_ line: String) { storage.withLock { $0.append(line) } }
}

private final class Counter: Sendable {
  private let storage = Locked(0)
  func next() -> Int {
    storage.withLock {
      $0 += 1
      return $0
    }
  }
}

/// Something that one thread gives to another.
private final class Handed<Value: Sendable>: Sendable {
  private let storage = Locked<Value?>(nil)
  func give(_ value: Value) { storage.withLock { $0 = value } }
  func take() -> Value {
    guard eventually({ storage.withLock { $0 != nil } }), let value = storage.withLock({ $0 })
    else {
      fatalError("nothing was given")
    }
    return value
  }
}

// SAFETY: only `perform` is called on it from another thread, which Foundation allows.
private struct RunLoopBox: @unchecked Sendable {
  let value: RunLoop
}

/// Answers one request of HTTP with "hello".
private final class OneAnswerServer: Sendable {
  let port: UInt16
  private let listener: CInt
  private let join: @Sendable () -> Void

  init() throws {
    let listener = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    unsafe withUnsafeMutablePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        _ = unsafe bind(listener, address, size)
        _ = listen(listener, 1)
        _ = unsafe getsockname(listener, address, &size)
      }
    }
    self.listener = listener
    port = UInt16(bigEndian: address.sin_port)
    let thread = try SystemThread.start(.init(stackSize: 1 << 20)) {
      let client = accept(listener, nil, nil)
      guard client >= 0 else { return }
      var request = [UInt8](repeating: 0, count: 4_096)
      _ = unsafe read(client, &request, request.count)
      let answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"
      _ = unsafe write(client, answer, answer.utf8.count)
      close(client)
    }
    join = { thread.join() }
  }

  func end() {
    shutdown(listener, CInt(SHUT_RDWR))
    join()
    close(listener)
  }
}
