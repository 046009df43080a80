import Glibc

/// What the system lets the process have.
enum ProcessLimits {
  /// Whether so many descriptors can be opened, beside those that the process has anyway.
  static func haveRoom(forDescriptors count: Int) -> Bool {
    var limit = rlimit()
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    guard unsafe getrlimit(resource, &limit) == 0 else { return false }
    return limit.rlim_cur > rlim_t(count + 200)
  }
}
