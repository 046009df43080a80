import ThreadingPlatform

/// Runs `body` on `count` threads at once, each with its number from 0, and returns when all have
/// ended.
///
/// Uses bare system threads, so that tests of a layer depend on no layer above it.
public func concurrently(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) throws {
  var threads: [SystemThread] = []
  defer { for thread in threads { thread.join() } }
  for index in 0..<count {
    threads.append(try SystemThread.start(.init(stackSize: 1 << 20)) { body(index) })
  }
}

/// Starts a thread that the caller joins through the returned function.
public func inBackground(_ body: @escaping @Sendable () -> Void) throws -> () -> Void {
  let thread = try SystemThread.start(.init(stackSize: 1 << 20), body: body)
  return { thread.join() }
}
