/// All workloads, lowest layer first.
enum Catalogue {
  static let all = workloads(threads: nil)

  /// The workloads; those that exist for any number of threads with the given numbers, or else with
  /// their own.
  static func workloads(threads: [Int]?) -> [Workload] {
    PlatformWorkloads.all + LockWorkloads.all(threads: threads) + WaitingWorkloads.all
      + ThreadWorkloads.all + LoopWorkloads.all(threads: threads) + TimerWorkloads.all
      + OperationWorkloads.all(threads: threads) + ParallelWorkloads.all
  }
}
