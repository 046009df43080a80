import Foundation

/// The machine and the build that figures belong to.
package struct Machine: Codable, Equatable {
  /// The processor's name.
  package let cpu: String
  /// Processors that the process may use.
  package let cores: Int
  package let kernel: String
  package let libc: String
  /// The compiler that built the program.
  package let swift: String
  /// `release` or `debug`.
  package let build: String
  /// When the run was, as ISO 8601 in UTC.
  package let date: String

  /// All but the date, on one line.
  package var summary: String {
    "\(cpu), \(cores) cores, \(kernel), \(libc), Swift \(swift), \(build) build"
  }

  /// What the running system says of itself.
  package static func current() -> Machine {
    Machine(
      cpu: cpuName ?? "unknown",
      cores: ProcessInfo.processInfo.activeProcessorCount,
      kernel: kernelName,
      libc: libcName ?? "unknown",
      swift: compiler,
      build: isDebugBuild ? "debug" : "release",
      date: Date.now.formatted(.iso8601))
  }

  /// Whether the compiler was told not to optimise.
  package static var isDebugBuild: Bool {
    var debug = false
    // The condition of an assertion is evaluated in debug builds alone.
    assert(
      {
        debug = true
        return true
      }())
    return debug
  }

  private static var cpuName: String? {
    guard let text = try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8) else {
      return nil
    }
    // x86 has a name; ARM has numbers of the implementer and the part.
    for key in ["model name", "Model", "CPU part"] {
      for line in text.split(separator: "\n") where line.hasPrefix(key) {
        guard let colon = line.firstIndex(of: ":") else { continue }
        return line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
      }
    }
    return nil
  }

  private static var kernelName: String {
    var names = utsname()
    guard unsafe uname(&names) == 0 else { return "unknown" }
    return [text(of: names.sysname), text(of: names.release), text(of: names.machine)]
      .joined(separator: " ")
  }

  /// The string in one of the fields of `utsname`, an array of bytes with a zero at its end.
  private static func text<Field>(of field: Field) -> String {
    unsafe withUnsafeBytes(of: field) { bytes in
      unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
  }

  private static var libcName: String? {
    let name = CInt(_CS_GNU_LIBC_VERSION)
    var buffer = [CChar](repeating: 0, count: 64)
    let length = unsafe confstr(name, &buffer, buffer.count)
    guard length > 1, length <= buffer.count else { return nil }
    return String(decoding: buffer.prefix(length - 1).map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  private static var compiler: String {
    #if compiler(>=6.4)
      "6.4 or later"
    #elseif compiler(>=6.3.1)
      "6.3.1 or later"
    #elseif compiler(>=6.3)
      "6.3"
    #else
      "6.2"
    #endif
  }
}
