internal import ThreadingPlatform

extension FastMutex {
  /// Has the lock, which the calling thread holds and forks with, free in the child.
  ///
  /// ``unlock()`` is for the parent alone: the child's thread has another id than the one that the word
  /// holds.
  package borrowing func freeInForkedChild() {
    SystemProcess.store(.zero, in: word)
  }
}
