import Glibc

/// The sanitizers of the compiler, under which a crash ends with their report.
enum Sanitizer {
  /// Whether the program runs under the thread sanitizer.
  static let isThread = unsafe dlsym(nil, "__tsan_init") != nil

  /// Whether the program runs under the address sanitizer.
  static let isAddress = unsafe dlsym(nil, "__asan_init") != nil
}
