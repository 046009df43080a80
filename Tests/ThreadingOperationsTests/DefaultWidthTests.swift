import Glibc
import Synchronization
import TestSupport
import Testing
import Threading
import ThreadingThreads

/// Control groups that are files of the test's own.
private enum FakeGroups {
  /// A tree with a quota, in the form of version 1 or 2 of control groups.
  static func make(version: Int, quota: Int) -> ControlGroups {
    var template = Array("/tmp/threading-groups-XXXXXX".utf8CString)
    precondition(unsafe mkdtemp(&template) != nil)
    let root = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    func write(_ path: String, _ text: String) {
      guard let file = unsafe fopen(root + path, "we") else { fatalError("no file \(path)") }
      _ = unsafe fputs(text, file)
      _ = unsafe fclose(file)
    }
    if version == 2 {
      precondition(unsafe mkdir(root + "/service", 0o755) == 0)
      write("/service/cpu.max", "\(quota) 100000\n")
      return ControlGroups(membership: "0::/service\n", mount: root)
    }
    precondition(
      unsafe mkdir(root + "/cpu", 0o755) == 0 && mkdir(root + "/cpu/service", 0o755) == 0)
    write("/cpu/service/cpu.cfs_quota_us", "\(quota)\n")
    write("/cpu/service/cpu.cfs_period_us", "100000\n")
    return ControlGroups(membership: "4:cpu,cpuacct:/service\n", mount: root)
  }
}

@Suite("Default widths", .endsInTime)
struct DefaultWidthTests {
  @Test(
    "a share of one and a half processors of many makes a width of 2, as do 2 of many",
    arguments: [1, 2])
  func width(version: Int) throws {
    let groups = FakeGroups.make(version: version, quota: 150_000)
    #expect(try AvailableParallelism.width(cpus: 64, groups: groups) == 2)
    #expect(try AvailableParallelism.width(cpus: 1, groups: groups) == 1)
    let unlimited = ControlGroups(membership: "", mount: "/nowhere")
    #expect(try AvailableParallelism.width(cpus: 2, groups: unlimited) == 2)
    let tiny = FakeGroups.make(version: version, quota: 10_000)
    #expect(try AvailableParallelism.width(cpus: 64, groups: tiny) == 1)
  }

  @Test("pools and queues are as wide as the container allows, unless told otherwise")
  func pools() async {
    await #expect(processExitsWith: .success) {
      for version in [1, 2] {
        ControlGroups.substitute = FakeGroups.make(version: version, quota: 40_000)
        precondition(AvailableParallelism.current == 1)
        let pool = try ThreadPool()
        precondition(pool.maximumThreads == 1)
        precondition(ThreadOperationQueue(pool: pool).width == 1)
        let queue = try ThreadOperationQueue(attributes: ThreadAttributes())
        precondition(queue.width == 1)
        let told = try ThreadPool(maximumThreads: 3)
        precondition(told.maximumThreads == 3)
        let wide = try ThreadOperationQueue(width: 5, attributes: ThreadAttributes())
        precondition(wide.width == 5)
      }
      precondition(ThreadOperationQueue().width == 1)
    }
  }

  @Test("with one processor the caller of a parallel loop does it all, whatever the pool has")
  func oneProcessor() async {
    await #expect(processExitsWith: .success) {
      // Before the first loop, which asks how many there are.
      ControlGroups.substitute = FakeGroups.make(version: 2, quota: 100_000)
      let pool = try ThreadPool(maximumThreads: 4)
      let sum = Atomic<Int>(0)
      parallelForEach(0..<100, on: pool, piece: 1) { outer in
        parallelForEach(0..<10, on: pool, piece: 1) { inner in
          precondition(ThreadPool.workerIndex == nil)
          sum.wrappingAdd(outer * inner, ordering: .relaxed)
        }
      }
      precondition(sum.load(ordering: .relaxed) == 4_950 * 45)
      precondition(pool.threadCount == 1)
    }
  }
}
