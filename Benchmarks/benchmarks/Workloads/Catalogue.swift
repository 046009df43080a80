/// All workloads, lowest layer first.
enum Catalogue {
  static let all: [Workload] =
    PlatformWorkloads.all + LockWorkloads.all + ThreadWorkloads.all + LoopWorkloads.all
    + TimerWorkloads.all
}
