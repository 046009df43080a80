import Glibc

/// Calls `body` while the process can open nothing: each try is refused with `EMFILE`.
///
/// For a process of the test's own.
///
/// - Parameter body: what is to be tried.
/// - Returns: what `body` returned.
/// - Throws: what `body` threw.
public func withoutDescriptors<Result>(_ body: () throws -> Result) rethrows -> Result {
  let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
  var limits = rlimit()
  precondition(unsafe getrlimit(resource, &limits) == 0)
  var none = rlimit(rlim_cur: 0, rlim_max: limits.rlim_max)
  precondition(unsafe setrlimit(resource, &none) == 0)
  defer { precondition(unsafe setrlimit(resource, &limits) == 0) }
  return try body()
}
