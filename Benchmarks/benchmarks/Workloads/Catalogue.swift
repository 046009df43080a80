/// All workloads, lowest layer first.
enum Catalogue {
  static let all: [Workload] =
    PlatformWorkloads.all + LockWorkloads.all + WaitingWorkloads.all + ThreadWorkloads.all
    + LoopWorkloads.all + TimerWorkloads.all + OperationWorkloads.all + ParallelWorkloads.all
}
