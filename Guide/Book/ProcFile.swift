import Foundation

/// What Linux tells about this process and its threads in the folder `/proc`.
enum ProcFile {
  /// The lines of a file; none if it cannot be read.
  static func lines(_ path: String) -> [String] {
    guard let file = FileHandle(forReadingAtPath: path), let data = try? file.readToEnd() else {
      return []
    }
    return String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
  }

  /// What stands behind a key, such as `VmRSS`, in the file `status` of the process, or of one of its
  /// threads.
  static func status(_ key: String, thread: UInt32? = nil) -> String? {
    let path = thread.map { "/proc/self/task/\($0)/status" } ?? "/proc/self/status"
    for line in lines(path) where line.hasPrefix(key + ":") {
      return line.dropFirst(key.count + 1).trimmingCharacters(in: .whitespaces)
    }
    return nil
  }

  /// A size that `status` tells, in bytes.
  static func bytes(_ key: String) -> Int {
    guard let words = status(key)?.split(separator: " "), let size = Int(words[0]) else { return 0 }
    return size * 1_024
  }

  /// The name by which the system lists a thread.
  static func name(thread: UInt32) -> String? {
    lines("/proc/self/task/\(thread)/comm").first
  }

  /// A field of a thread's file `stat`, by its number in proc(5), from 3 (the state).
  static func field(_ number: Int, thread: UInt32) -> String? {
    // The name stands in parentheses and may hold anything, so the rest follows the last one.
    guard let line = lines("/proc/self/task/\(thread)/stat").first,
      let end = line.lastIndex(of: ")")
    else { return nil }
    let fields = line[line.index(after: end)...].split(separator: " ")
    return fields.indices.contains(number - 3) ? String(fields[number - 3]) : nil
  }

  /// The kernel's numbers of the process's threads.
  static var threads: [UInt32] {
    let names = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")
    return (names ?? []).compactMap { UInt32($0) }.sorted()
  }
}
