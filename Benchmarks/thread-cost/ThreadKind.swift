import Dispatch
import Foundation
import Threading
import ThreadingFoundation
import ThreadingPlatform

/// A way to have a thread.
struct ThreadKind: Sendable {
  /// Waits for the end of what was started.
  typealias Join = () throws -> Void

  let name: String
  /// Whether it starts a thread each time, whose memory can be told.
  let isThread: Bool
  /// Starts a thread, with a stack of the given size or else of the usual one.
  let start: @Sendable (_ stackSize: Int?, _ body: @escaping @Sendable () -> Void) throws -> Join

  static let all = [
    ThreadKind(name: "pthread", isThread: true) { stackSize, body in
      let thread = try SystemThread.start(.init(stackSize: stackSize), body: body)
      return { thread.join() }
    },
    ThreadKind(name: "PosixThread", isThread: true) { stackSize, body in
      let thread = try PosixThread.start(ThreadAttributes(stackSize: stackSize), body: body)
      return { try thread.join() }
    },
    ThreadKind(name: "FoundationThread", isThread: true) { stackSize, body in
      let thread = try FoundationThread.start(ThreadAttributes(stackSize: stackSize), body: body)
      return { try thread.join() }
    },
    ThreadKind(name: "Foundation", isThread: true) { stackSize, body in
      let ended = DispatchSemaphore(value: 0)
      let thread = Foundation.Thread {
        body()
        ended.signal()
      }
      if let stackSize { thread.stackSize = stackSize }
      thread.start()
      return { ended.wait() }
    },
    ThreadKind(name: "Dispatch", isThread: false) { _, body in
      let item = DispatchWorkItem(block: body)
      DispatchQueue.global().async(execute: item)
      return { item.wait() }
    },
  ]
}
