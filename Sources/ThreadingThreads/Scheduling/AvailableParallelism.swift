internal import Synchronization
package import ThreadingPlatform

/// How many threads can really run at once: the width to choose for a pool of busy threads.
public enum AvailableParallelism {
  /// The number of processors that the process may use, or its share of processor time if that is
  /// less, rounded up; at least 1.
  ///
  /// Both are what the process's container has: the set of allowed processors, and the quotas of its
  /// control groups (version 1 and 2) and all groups around them. Read anew at each call, since they may
  /// be changed; costs some reads of files.
  ///
  /// A quota that cannot be read, because the process has no descriptor left, is taken for none.
  public static var current: Int { measured.width }

  /// The width, and whether everything could be read.
  private static var measured: (width: Int, isCertain: Bool) {
    let cpus = (try? CPUSet.allowed().count) ?? 1
    do throws(ThreadingError) {
      return (try width(cpus: cpus, groups: .ofThisProcess), true)
    } catch {
      return (max(1, cpus), false)
    }
  }

  /// ``current`` as it was for who asked first: for paths on which files must not be read.
  package static var initial: Int {
    // relaxed: no data goes with the number. Threads that ask at once all take the first one's.
    let known = initialWidth.load(ordering: .relaxed)
    if known != 0 { return known }
    let (width, isCertain) = measured
    guard isCertain else { return width }
    let (isFirst, other) = initialWidth.compareExchange(
      expected: 0, desired: width, ordering: .relaxed)
    return isFirst ? width : other
  }

  /// 0 before anybody has asked. Not a value that is made at its first use, which would read files at
  /// each program's first fork, see ``ForkGuard``.
  private static let initialWidth = Atomic<Int>(0)

  static func makeValues() { _ = initialWidth.load(ordering: .relaxed) }

  /// The width for a number of allowed processors and the quotas of control groups.
  ///
  /// - Throws: when the quotas cannot be read for want of a descriptor.
  package static func width(cpus: Int, groups: ControlGroups) throws(ThreadingError) -> Int {
    guard let share = try groups.processorShare() else { return max(1, cpus) }
    return max(1, min(cpus, Int(min(share.rounded(.up), Double(Int32.max)))))
  }
}

/// The control groups of a process, as the kernel's files tell.
package struct ControlGroups: Sendable {
  /// The contents of `/proc/self/cgroup`.
  private let membership: String
  /// Where the control groups are mounted: `/sys/fs/cgroup`.
  private let mount: String

  package init(membership: String, mount: String) {
    self.membership = membership
    self.mount = mount
  }

  /// What stands in for the process's own groups, for tests.
  package static var substitute: ControlGroups? {
    get { substituteLock.withLock { unsafe chosenSubstitute } }
    set { substituteLock.withLock { unsafe chosenSubstitute = newValue } }
  }

  static let substituteLock = ForkSafeLock()
  // SAFETY of nonisolated(unsafe): only touched with `substituteLock` held.
  private nonisolated(unsafe) static var chosenSubstitute: ControlGroups?

  package static var ofThisProcess: ControlGroups {
    get throws(ThreadingError) {
      if let groups = substitute { return groups }
      return ControlGroups(
        membership: try SystemFile.textIfThere(of: "/proc/self/cgroup") ?? "",
        mount: "/sys/fs/cgroup")
    }
  }

  /// The smallest quota of processor time in all groups that the process is in, in processors; nil when
  /// there is none.
  ///
  /// - Throws: when the files cannot be read for want of a descriptor.
  package func processorShare() throws(ThreadingError) -> Double? {
    var shares: [Double] = []
    for line in membership.split(separator: "\n") {
      // Number, controllers, path: "4:cpu,cpuacct:/a/b"; version 2 has "0::/a/b".
      let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
      guard fields.count == 3 else { continue }
      let controllers = fields[1].split(separator: ",")
      if fields[0] == "0" && controllers.isEmpty {
        // A mixed system has version 2 in a folder of its own.
        for root in [mount, mount + "/unified"] {
          for group in groups(of: fields[2]) { shares += try Self.shareV2(root + group) }
        }
      } else if controllers.contains("cpu") {
        for root in [mount + "/cpu", mount + "/" + fields[1]] {
          for group in groups(of: fields[2]) { shares += try Self.shareV1(root + group) }
        }
      }
    }
    return shares.min()
  }

  /// A group and those around it, up to the mount itself: "/a/b", "/a", "". Inside a container the path
  /// may be that of the host, which is not there; the mount itself is then the group.
  private func groups(of path: Substring) -> [String] {
    var names = path.split(separator: "/")
    var groups = [""]
    while !names.isEmpty {
      groups.append("/" + names.joined(separator: "/"))
      names.removeLast()
    }
    return groups
  }

  /// `cpu.max` holds quota and period in microseconds: "150000 100000", or "max 100000".
  private static func shareV2(_ group: String) throws(ThreadingError) -> [Double] {
    let text = try SystemFile.textIfThere(of: group + "/cpu.max")
    let fields = text?.split(whereSeparator: \.isWhitespace) ?? []
    guard fields.count == 2, let quota = Double(fields[0]), let period = Double(fields[1]) else {
      return []
    }
    return share(quota, period)
  }

  /// The quota of version 1 is -1 for none.
  private static func shareV1(_ group: String) throws(ThreadingError) -> [Double] {
    func number(_ name: String) throws(ThreadingError) -> Double? {
      let text = try SystemFile.textIfThere(of: group + "/" + name)
      return text?.split(whereSeparator: \.isWhitespace).first.flatMap { Double($0) }
    }
    guard let quota = try number("cpu.cfs_quota_us"), let period = try number("cpu.cfs_period_us")
    else { return [] }
    return share(quota, period)
  }

  private static func share(_ quota: Double, _ period: Double) -> [Double] {
    quota > 0 && period > 0 ? [quota / period] : []
  }
}
