internal import Glibc

/// What the threads of this process, those that have ended among them, have used so far.
package struct ProcessUsage: Equatable, Sendable {
  /// Processor time of all threads, in the program and in the kernel, in nanoseconds. The kernel
  /// tells it in whole microseconds.
  package let cpuNanoseconds: Int64
  /// How often a thread gave up its processor to wait.
  package let voluntarySwitches: Int64
  /// How often a thread lost its processor to another.
  package let involuntarySwitches: Int64

  /// Figures as they are given.
  package init(cpuNanoseconds: Int64, voluntarySwitches: Int64, involuntarySwitches: Int64) {
    self.cpuNanoseconds = cpuNanoseconds
    self.voluntarySwitches = voluntarySwitches
    self.involuntarySwitches = involuntarySwitches
  }

  /// The figures of this moment. One system call, which looks at every thread.
  package static func now() -> ProcessUsage {
    var usage = rusage()
    let code = unsafe getrusage(RUSAGE_SELF.rawValue, &usage)
    // The call fails for a bad pointer or a bad name of the process alone.
    require(code == 0, "ProcessUsage.now(): getrusage failed with errno \(errno)")
    let microseconds =
      (Int64(usage.ru_utime.tv_sec) + Int64(usage.ru_stime.tv_sec)) * 1_000_000
      + Int64(usage.ru_utime.tv_usec) + Int64(usage.ru_stime.tv_usec)
    return ProcessUsage(
      cpuNanoseconds: microseconds * 1_000, voluntarySwitches: Int64(usage.ru_nvcsw),
      involuntarySwitches: Int64(usage.ru_nivcsw))
  }

  /// Switches of both kinds.
  package var switches: Int64 { voluntarySwitches + involuntarySwitches }

  /// What was used between two moments.
  package static func - (later: ProcessUsage, earlier: ProcessUsage) -> ProcessUsage {
    ProcessUsage(
      cpuNanoseconds: later.cpuNanoseconds - earlier.cpuNanoseconds,
      voluntarySwitches: later.voluntarySwitches - earlier.voluntarySwitches,
      involuntarySwitches: later.involuntarySwitches - earlier.involuntarySwitches)
  }
}
