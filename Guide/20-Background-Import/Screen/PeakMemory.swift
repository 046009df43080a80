/// The most memory that the process has used.
enum PeakMemory {
  /// In bytes; nil if the system does not tell.
  ///
  /// It is read from `/proc`. The figure of `getrusage(2)` would be the wrong one: on Linux it is
  /// handed on when a process becomes another program, so under `swift run` it tells of the compiler.
  static var bytes: Int? {
    guard let words = SystemFile.words(of: "/proc/self/status"),
      let name = words.firstIndex(of: "VmHWM:"), name + 1 < words.count
    else { return nil }
    return Int(words[name + 1]).map { $0 * 1_024 }
  }
}
