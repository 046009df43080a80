import Threading

extension NamesChapter {
  static let solutions = [
    Solution("a list of all threads of the process") { page in
      let thread = try ParkedThread(ThreadAttributes(name: "one of many"))
      // It is there, but may still be on the way to its bed.
      var rows = listThreads()
      let limit = MonotonicInstant.now.advanced(by: .seconds(4))
      while !rows.contains("one of many: sleeps"), MonotonicInstant.now < limit {
        rows = listThreads()
      }
      page.claim("the new thread is in the list, and sleeps", rows.contains("one of many: sleeps"))
      page.claim("so is the main thread, which runs", rows.contains { $0.hasSuffix(": runs") })
      try thread.end()
    },
    Solution("a thread that visits every processor") { page in
      let visits = try visitProcessors()
      page.claim("it was where it had been sent, each time", visits.asked == visits.found)
      page.figure("visited", visits.found.map(String.init).joined(separator: ", "))
    },
  ]

  /// A line for each thread: its name and what it does.
  static func listThreads() -> [String] {
    ProcFile.threads.map { id in
      let name = ProcFile.name(thread: id) ?? "ended"
      switch ProcFile.field(3, thread: id) {
      case "R": return "\(name): runs"
      case "S", "D": return "\(name): sleeps"
      default: return "\(name): in another state"
      }
    }
  }

  /// Sends a thread to each processor in turn, and has it look where it is.
  static func visitProcessors() throws -> (asked: [Int], found: [Int]) {
    let allowed = try CPUSet.allowed().numbers
    let traveller = try PosixThread.start(ThreadAttributes(name: "traveller")) {
      let me = ThreadHandle.current
      return try allowed.map { cpu in
        try me.setAffinity(CPUSet([cpu]))
        return ProcFile.field(39, thread: me.kernelID).flatMap { Int($0) } ?? -1
      }
    }
    return (allowed, try traveller.join())
  }
}
