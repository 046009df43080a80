/// How long the calling thread was ready to run while other threads had the processors.
enum ProcessorWait {
  /// Since the thread began; nil if the system does not tell.
  static var ofCurrentThread: Duration? {
    guard let words = SystemFile.words(of: "/proc/thread-self/schedstat"), words.count >= 2 else {
      return nil
    }
    return Int64(words[1]).map { .nanoseconds($0) }
  }
}
