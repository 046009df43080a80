import Threading

extension CostChapter {
  struct SmallStack {
    let answer: Int
    let hasGuard: Bool
    let line: String
  }

  /// Looks up the stack of a thread in the list of the process's memory.
  static func stackOfSmallThread() throws -> SmallStack {
    let address = Locked(UInt(0))
    let isSeen = CountdownLatch(1)
    let hasAddress = CountdownLatch(1)
    // snippet: small
    let small = ThreadAttributes(name: "small", stackSize: 40_960)
    let thread = try PosixThread.start(small) {
      address.withLock { $0 = addressOnStack() }
      hasAddress.countDown()
      isSeen.wait()
      return 42
    }
    // end
    hasAddress.wait()
    let maps = ProcFile.lines("/proc/self/maps")
    isSeen.countDown()
    let place = address.withLock { $0 }
    let index = maps.firstIndex { range(of: $0)?.contains(place) == true }
    let hasGuard = index.map { $0 > 0 && maps[$0 - 1].contains("---p") } ?? false
    return SmallStack(
      answer: try thread.join(), hasGuard: hasGuard, line: index.map { maps[$0] } ?? "not found")
  }

  static func usageOfStack() throws -> StackUsage {
    // snippet: usage
    var attributes = ThreadAttributes(stackSize: 1 << 20)
    attributes.isStackMeasured = true  // begin with a clean one
    let thread = try PosixThread.start(attributes) {
      _ = descend(100)
      return try ThreadHandle.current.stackUsage()
    }
    let usage = try thread.join()
    // end
    return usage
  }

  /// An address on the calling thread's stack.
  private static func addressOnStack() -> UInt {
    var value = 0
    return unsafe withUnsafeMutablePointer(to: &value) { UInt(bitPattern: $0) }
  }

  /// The addresses of a line such as `7f12c000-7f12d000 rw-p ...`.
  private static func range(of line: String) -> Range<UInt>? {
    let ends = line.prefix { $0 != " " }.split(separator: "-").compactMap { UInt($0, radix: 16) }
    return ends.count == 2 && ends[0] < ends[1] ? ends[0]..<ends[1] : nil
  }

  // snippet: descend
  /// Calls itself, and keeps 1 KiB on the stack for each level.
  @inline(never)
  static func descend(_ levels: Int) -> Int {
    let room = InlineArray<1_024, UInt8>(repeating: UInt8(truncatingIfNeeded: levels))
    if levels == 0 { return 0 }
    let below = descend(levels - 1)
    return below + (room[below & 1_023] == UInt8(truncatingIfNeeded: levels) ? 1 : 0)
  }

  static func depth(onStackOf size: Int) throws -> Int {
    try PosixThread.start(ThreadAttributes(stackSize: size)) { descend(4_000) }.join()
  }
  // end
}
