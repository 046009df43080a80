import Glibc

/// What the system says that this process uses.
public struct ProcessFigures: Sendable {
  /// Mappings of memory: each stack of a thread is at least one.
  public let maps: Int
  /// Kernel threads.
  public let threads: Int
  /// Open descriptors, without the one that the count itself needs.
  public let descriptors: Int
  /// Resident memory in bytes.
  public let residentBytes: Int

  /// The figures of this moment.
  public static func now() -> ProcessFigures {
    let fields = text(of: "/proc/self/statm").split(separator: " ")
    let pages = fields.count > 1 ? Int(fields[1]) ?? 0 : 0
    return ProcessFigures(
      maps: text(of: "/proc/self/maps").utf8.count { $0 == 10 },
      threads: entries(of: "/proc/self/task"),
      descriptors: entries(of: "/proc/self/fd") - 1,
      residentBytes: pages * sysconf(CInt(_SC_PAGESIZE)))
  }

  /// The most mappings that the C library has of threads that have ended, whose stacks have so many
  /// bytes: it keeps 40 MiB of them for the next threads, and each has a guard. As many pile up where
  /// threads end slower than others start.
  public static func mapsOfKeptStacks(ofBytes size: Int) -> Int { 2 * ((40 << 20) / size + 1) }

  private static func text(of path: String) -> String {
    guard let file = unsafe fopen(path, "re") else { return "" }
    defer { _ = unsafe fclose(file) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = unsafe fread(&buffer, 1, buffer.count, file)
      if count == 0 { return String(decoding: bytes, as: UTF8.self) }
      bytes += buffer[..<count]
    }
  }

  private static func entries(of path: String) -> Int {
    guard let folder = unsafe opendir(path) else { return 0 }
    defer { _ = unsafe closedir(folder) }
    var count = 0
    while let entry = unsafe readdir(folder) {
      if unsafe entry.pointee.d_name.0 != 46 { count += 1 }
    }
    return count
  }
}
