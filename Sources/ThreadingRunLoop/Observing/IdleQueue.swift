internal import ThreadingPlatform

/// Blocks that a loop runs when it would otherwise sleep. Guarded by the lock of its items.
struct IdleQueue {
  private struct Entry {
    let key: String?
    let modes: UInt64
    let body: @Sendable () -> Void
  }

  private var entries: [Entry] = []

  /// Adds a block at the end, or in place of the one of the same key.
  ///
  /// - Returns: the block that it replaces, for release without the lock.
  mutating func add(
    _ body: @escaping @Sendable () -> Void, key: String?, modes: UInt64
  ) -> (@Sendable () -> Void)? {
    let entry = Entry(key: key, modes: modes, body: body)
    if let key, let index = entries.firstIndex(where: { $0.key == key }) {
      defer { entries[index] = entry }
      return entries[index].body
    }
    entries.append(entry)
    return nil
  }

  func hasBlocks(in modes: UInt64) -> Bool { entries.contains { $0.modes & modes != 0 } }

  /// Takes the oldest block of the given modes.
  mutating func popFirst(in modes: UInt64) -> (@Sendable () -> Void)? {
    guard let index = entries.firstIndex(where: { $0.modes & modes != 0 }) else { return nil }
    return entries.remove(at: index).body
  }

  mutating func close() -> [Any?] {
    defer { entries = [] }
    return entries.map { $0.body as Any? }
  }
}

extension ThreadRunLoop {
  /// Has the loop's thread run a block when the loop has nothing else to do and would sleep.
  ///
  /// With a key, the block takes the place of the one that waits under that key, so what is asked
  /// for many times is done once. Idle blocks run oldest first, one in a pass that finds nothing else
  /// to do. They are something to wait for, and no input that ends a run.
  ///
  /// - Parameters:
  ///   - key: Blocks of one key replace each other; nil replaces nothing.
  ///   - modes: The modes in which the block may run.
  ///   - block: What to run.
  /// - Returns: Whether the loop has the block: false only when its thread has ended.
  /// - Note: Safe to call from any thread.
  @discardableResult
  public func performWhenIdle(
    key: String? = nil, in modes: ModeSet = .common, _ block: @escaping @Sendable () -> Void
  ) -> Bool {
    require(
      !modes.isEmpty,
      "ThreadRunLoop.performWhenIdle: the set of modes is empty; the block would never run")
    let (loop, replaced) = items.withLock { state in
      let replaced =
        state.loop == nil ? nil : state.idle.add(block, key: key, modes: modes.bits)
      return (state.loop, replaced)
    }
    _ = replaced
    loop?.notifyFromOutside()
    return loop != nil
  }

  /// Runs the oldest idle block. One in a pass: a block that adds itself anew holds up nothing else.
  ///
  /// - Returns: whether there was one.
  func runIdleBlock(in modes: UInt64) -> Bool {
    guard let block = items.withLock({ $0.idle.popFirst(in: modes) }) else { return false }
    let outer = calls.begin(.idleBlock)
    block()
    calls.end(outer)
    return true
  }
}
