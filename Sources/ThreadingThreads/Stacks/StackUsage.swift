internal import ThreadingPlatform

/// How much of its stack a thread uses, and has used; all in bytes.
public struct StackUsage: Sendable, Hashable {
  /// What the frames of the thread can take: at least the ``ThreadAttributes/stackSize`` asked for. It
  /// may be up to four times as much, because the C library uses stacks of ended threads again. For the
  /// main thread it is the limit `RLIMIT_STACK`, up to which its stack grows.
  public let size: Int

  /// The inaccessible bytes beyond ``size``: what is in force of ``ThreadAttributes/guardSize``. 0 for
  /// a stack in memory of the caller's, and for the main thread, whose guard is the kernel's own.
  public let guardSize: Int

  /// What the thread's frames take at this moment.
  ///
  /// nil for a thread that could not be asked: it blocks all signals, or did not answer in time.
  public let current: Int?

  /// The most that the frames have ever taken, so far as memory tells: the distance to the farthest word
  /// that does not hold zero. Exact to 8 bytes, but for variables that were only set aside or only ever
  /// held zero.
  ///
  /// A stack of an ended thread that is used again keeps the marks of that thread in the first 16 KiB
  /// or so below where its end found it. Where less matters,
  /// ``ThreadAttributes/isStackMeasured`` cleans the stack first. Pages that the system has swapped out
  /// are not looked at.
  public let highWaterMark: Int

  /// What is left at this moment; nil where ``current`` is.
  public var available: Int? { current.map { size - $0 } }

  /// What was left at the worst moment so far.
  public var leastAvailable: Int { size - highWaterMark }

  package init(size: Int, guardSize: Int, current: Int?, highWaterMark: Int) {
    self.size = size
    self.guardSize = guardSize
    self.current = current
    self.highWaterMark = highWaterMark
  }
}

extension StackUsage {
  /// - Parameters:
  ///   - stack: the bounds of a stack whose thread cannot end during the call.
  ///   - position: the stack pointer of the thread.
  ///   - lowest: how far down its frames have come.
  init(_ stack: SystemThread.StackBounds, position: UInt?, lowest: UInt) {
    let current = position.map { $0 < stack.base ? Int(stack.base - $0) : 0 }
    self.init(
      size: stack.usableSize, guardSize: stack.guardSize, current: current,
      highWaterMark: max(Int(stack.base - lowest), current ?? 0))
  }
}
