import Glibc

/// The sanitizers of the compiler, under which a crash ends with their report.
enum Sanitizer {
  /// Whether the program runs under the thread sanitizer.
  static let isThread = unsafe dlsym(nil, "__tsan_init") != nil

  /// Has the thread sanitizer, in processes that this one starts, remember as much as it can of what each
  /// thread did: it tells of a race only while it remembers both sides.
  static func rememberMore() {
    let known = unsafe getenv("TSAN_OPTIONS").map { unsafe String(cString: $0) + " " } ?? ""
    _ = unsafe setenv("TSAN_OPTIONS", known + "history_size=7", 1)
  }

  /// Whether the program runs under the address sanitizer.
  static let isAddress = unsafe dlsym(nil, "__asan_init") != nil
}
