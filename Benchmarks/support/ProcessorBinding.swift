import Glibc

/// Binds threads to processors.
///
/// Where the scheduler puts two threads that wake each other decides most of the time: a switch on
/// one processor, or an interrupt to another. Left to it, samples of one series fall into two
/// heaps, and the median says which heap was larger.
package enum ProcessorBinding {
  /// The processors that the process may run on, by number: those of the first thread to ask, before
  /// any is bound.
  private static let available = ofCurrentThread

  /// The processors that the calling thread may run on, by number; none on a system that does not
  /// say.
  package static var ofCurrentThread: [Int] {
    var mask = [UInt64](repeating: 0, count: maskWords)
    guard let call = unsafe maskCall("sched_getaffinity") else { return [] }
    guard unsafe call(0, maskWords * 8, &mask) == 0 else { return [] }
    return (0..<maskWords * 64).filter { mask[$0 / 64] & (1 << ($0 % 64)) != 0 }
  }

  /// Binds the calling thread to one of the available processors, the `index`-th round the ring of
  /// them. Does nothing where none are known.
  package static func bindCurrentThread(to index: Int) {
    guard !available.isEmpty, let call = unsafe maskCall("sched_setaffinity") else { return }
    let processor = available[index % available.count]
    var mask = [UInt64](repeating: 0, count: maskWords)
    mask[processor / 64] = 1 << (processor % 64)
    let code = unsafe call(0, maskWords * 8, &mask)
    precondition(code == 0, "sched_setaffinity: errno \(errno)")
  }

  /// Words of a mask of 1,024 processors, the C library's own limit.
  private static let maskWords = 16

  private typealias MaskCall =
    @convention(c) (pid_t, Int, UnsafeMutablePointer<UInt64>) -> CInt

  /// A function of the C library that the Glibc module does not show.
  private static func maskCall(_ name: String) -> MaskCall? {
    guard let address = unsafe dlsym(nil, name) else { return nil }
    return unsafe unsafeBitCast(address, to: MaskCall.self)
  }
}
