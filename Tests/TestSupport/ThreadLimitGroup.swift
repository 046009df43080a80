import Glibc

/// A control group of the kernel's that limits the number of threads, for a child process of a test that
/// joins it. Needs the right to make one, which the superuser of a container has or has not.
public struct ThreadLimitGroup {
  private let path: String
  private let home: String

  /// Whether this process may make such a group. Found by trying.
  public static let isPossible: Bool = {
    ThreadLimitGroup(name: "swift-threading-try-\(getpid())")?.remove() ?? false
  }()

  /// A new group that limits nothing yet; nil where that is not possible.
  public init?(name: String) {
    let membership = Self.read("/proc/self/cgroup")
    var homes: [String] = []
    for line in membership.split(separator: "\n") {
      let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
      guard fields.count == 3 else { continue }
      let own = fields[2] == "/" ? "" : String(fields[2])
      if fields[1].split(separator: ",").contains("pids") {
        homes.append("/sys/fs/cgroup/pids" + own)
      }
      if fields[1].isEmpty {
        homes += ["/sys/fs/cgroup" + own, "/sys/fs/cgroup/unified" + own]
      }
    }
    for home in homes {
      let path = home + "/" + name
      guard unsafe mkdir(path, 0o755) == 0 else { continue }
      if Self.write("max", path + "/pids.max") {
        self.path = path
        self.home = home
        return
      }
      _ = unsafe rmdir(path)
    }
    return nil
  }

  /// Sets the number of threads that the processes of the group may have together.
  public func limit(to count: Int) -> Bool { Self.write("\(count)", path + "/pids.max") }

  /// Moves the calling process into the group.
  public func join() -> Bool { Self.write("\(getpid())", path + "/cgroup.procs") }

  /// Moves the calling process back to where it was.
  public func leave() -> Bool { Self.write("\(getpid())", home + "/cgroup.procs") }

  /// Removes the group, in which no process is any more.
  @discardableResult
  public func remove() -> Bool { unsafe rmdir(path) == 0 }

  private static func read(_ path: String) -> String {
    guard let file = unsafe fopen(path, "re") else { return "" }
    defer { _ = unsafe fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 1 << 14)
    let count = unsafe fread(&bytes, 1, bytes.count, file)
    return String(decoding: bytes[..<count], as: UTF8.self)
  }

  private static func write(_ text: String, _ path: String) -> Bool {
    let descriptor = unsafe open(path, O_WRONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    return unsafe text.utf8CString.withUnsafeBytes { bytes in
      unsafe Glibc.write(descriptor, bytes.baseAddress, bytes.count - 1) == bytes.count - 1
    }
  }
}
