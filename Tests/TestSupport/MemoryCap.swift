import Glibc

/// A limit on the process's address space, for a child process of a test.
public struct MemoryCap {
  private let former: rlimit

  /// Limits the address space to what is in use now and `room` bytes more.
  public static func lowered(leaving room: UInt64) -> MemoryCap {
    var limits = rlimit()
    precondition(unsafe getrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limits) == 0)
    var lowered = limits
    lowered.rlim_cur = rlim_t(addressSpaceInUse() + room)
    precondition(unsafe setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &lowered) == 0)
    return MemoryCap(former: limits)
  }

  /// Puts the limit back to what it was.
  public func restore() {
    var limits = former
    precondition(unsafe setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limits) == 0)
  }

  private static func addressSpaceInUse() -> UInt64 {
    guard let file = unsafe fopen("/proc/self/statm", "re") else { fatalError("no statm") }
    defer { _ = unsafe fclose(file) }
    var line = [CChar](repeating: 0, count: 256)
    guard unsafe fgets(&line, CInt(line.count), file) != nil else { fatalError("empty statm") }
    let pages = unsafe strtoull(line, nil, 10)
    return pages * UInt64(sysconf(CInt(_SC_PAGESIZE)))
  }
}
