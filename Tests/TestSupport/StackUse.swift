import ThreadingPlatform

/// Has frames of the calling thread take at least `bytes` of its stack, and comes back.
@inline(never)
public func useStack(to bytes: Int, then body: () -> Void = {}) {
  guard let stack = try? SystemThread.currentStack() else { fatalError("no stack") }
  descend(to: stack.base - UInt(bytes), body)
}

@inline(never)
private func descend(to limit: UInt, _ body: () -> Void) {
  unsafe withUnsafeTemporaryAllocation(byteCount: 128, alignment: 8) { room in
    unsafe room.initializeMemory(as: UInt8.self, repeating: 0xA5)
    if SystemThread.frameAddress > limit { descend(to: limit, body) } else { body() }
    // After the call, so that it is not the last thing that the function does.
    unsafe room.initializeMemory(as: UInt8.self, repeating: 0x5A)
  }
}
