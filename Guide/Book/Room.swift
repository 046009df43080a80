import Glibc
import Threading

/// Whether the system has what a chapter's program needs, found out before anything of it is begun.
///
/// Libraries that a chapter shows beside ours start threads and open descriptors as well, and where they get
/// none they wait for better times, without end and without a word.
enum Room {
  /// Starts so many threads that all live at one moment, and ends them.
  ///
  /// - Throws: `ChapterFailure` that tells how many there can be.
  static func check(threads count: Int) throws(ChapterFailure) {
    let mayEnd = CountdownLatch(1)
    var threads: [PosixThread<Void, Never>] = []
    var refusal: ThreadingError?
    do throws(ThreadingError) {
      for _ in 0..<count {
        threads.append(
          // With the usual stack, as the threads of libraries have it.
          try PosixThread.start { mayEnd.wait() })
      }
    } catch {
      refusal = error
    }
    mayEnd.countDown()
    for thread in threads { try? thread.join() }
    guard let refusal else { return }
    throw ChapterFailure(
      "it needs \(count) threads at once, and the system gives \(threads.count): \(refusal.message)",
      .system)
  }

  /// Opens so many descriptors at one moment, and closes them.
  ///
  /// - Throws: `ChapterFailure` that tells how many there can be.
  static func check(descriptors count: Int) throws(ChapterFailure) {
    var descriptors: [Descriptor] = []
    while descriptors.count < count {
      let descriptor = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
      guard descriptor >= 0 else {
        let reason = unsafe String(cString: strerror(errno))
        throw ChapterFailure(
          "it needs \(count) open files at once, and the system gives \(descriptors.count): "
            + reason, .system)
      }
      descriptors.append(Descriptor(descriptor))
    }
  }
}
