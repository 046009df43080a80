internal import CThreadingPlatform
internal import Glibc

/// The processors that this process may use.
package enum Processors {
  /// How many there are for the thread that asks first; at least 1. Read once.
  package static let available: Int = {
    // The kernel's mask may be larger than the usual 1,024 bits: asked with growing room.
    var size = 128
    while size <= 1 << 16 {
      let count = unsafe withUnsafeTemporaryAllocation(byteCount: size, alignment: 8) { mask in
        unsafe ctp_allowed_processors(mask.baseAddress!, size)
      }
      if count > 0 { return Int(count) }
      guard count == -EINVAL else { break }
      size *= 2
    }
    return 1
  }()

  /// How many the process could use when it was started, whatever its threads are bound to since; at
  /// least 1.
  package static var atStart: Int { Int(ctp_processors_at_start()) }

  /// How many the machine has, in use or not; at least 1.
  package static var configured: Int { max(1, sysconf(CInt(_SC_NPROCESSORS_CONF))) }

  /// A hint that the caller spins on a word.
  @inline(__always)
  package static func relax() { ctp_spin_hint() }
}
