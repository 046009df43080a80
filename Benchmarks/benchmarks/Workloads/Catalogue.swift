/// All workloads, lowest layer first.
enum Catalogue {
  static let all = workloads(threads: nil)

  /// The workloads; those that exist for any number of threads with the given numbers, or else with
  /// their own.
  static func workloads(threads: [Int]?) -> [Workload] {
    PlatformWorkloads.all + AtomicWorkloads.all(threads: threads)
      + LockWorkloads.all(threads: threads) + WaitingWorkloads.all + ThreadWorkloads.all
      + LoopWorkloads.all(threads: threads) + DescriptorWorkloads.all + TimerWorkloads.all
      + OperationWorkloads.all(threads: threads) + PoolWorkloads.all + ParallelWorkloads.all
      + IdleWorkloads.all + MemoryWorkloads.all + StartupWorkloads.all
  }
}
