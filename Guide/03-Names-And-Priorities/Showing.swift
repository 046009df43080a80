import Threading

extension NamesChapter {
  static func showNames(on page: Page) throws {
    // snippet: name
    let thread = try ParkedThread(ThreadAttributes(name: "temperature-sensor-7"))
    let listed = ProcFile.name(thread: thread.id)
    // end
    page.claim("the thread knows its whole name", thread.handle.name == "temperature-sensor-7")
    page.claim("the system lists as much as it keeps", listed == "temperature-sen")
    thread.handle.name = "sensor-8"
    page.claim("renamed while it runs", ProcFile.name(thread: thread.id) == "sensor-8")
    try thread.end()
    page.claim("the name outlives the thread", thread.handle.name == "sensor-8")
  }

  static func showNice(on page: Page) throws {
    // snippet: nice
    var attributes = ThreadAttributes(name: "indexer", scheduling: .other(nice: 5))
    let thread = try ParkedThread(attributes)
    // end
    page.claim("the kernel has a nice value of 5", ProcFile.field(19, thread: thread.id) == "5")
    try thread.handle.setScheduling(.quality(.background))
    page.claim(
      "lowered while it runs: background is nice 19 in batches",
      ProcFile.field(19, thread: thread.id) == "19" && ProcFile.field(41, thread: thread.id) == "3")
    try thread.end()

    attributes.scheduling = .other(nice: 40)
    var message: String?
    do throws(ThreadingError) { try attributes.validate() } catch { message = error.message }
    page.claim(
      "a wrong value is refused before the start",
      message == "a nice value of 40 is outside -20...19")
  }

  static func showPolicies(on page: Page) throws {
    let idle = try ParkedThread(ThreadAttributes(name: "idler", scheduling: .idle))
    page.claim("idle: policy 5", ProcFile.field(41, thread: idle.id) == "5")
    try idle.end()

    // snippet: realtime
    let urgent = ThreadAttributes(name: "audio", scheduling: .fifo(priority: 10))
    do throws(ThreadingError) {
      let thread = try ParkedThread(urgent)
      // end
      page.claim(
        "real time is either in force, or refused with EPERM",
        ProcFile.field(41, thread: thread.id) == "1"
          && ProcFile.field(40, thread: thread.id) == "10")
      page.figure("here", "in force, with priority 10")
      do { try thread.end() } catch { page.claim("it ends", false) }
    } catch {
      page.claim("real time is either in force, or refused with EPERM", error.codeName == "EPERM")
      page.figure("here", error)
    }
  }

  static func showProcessors(on page: Page) throws {
    // snippet: cpus
    let allowed = try CPUSet.allowed()
    let first = CPUSet(allowed.numbers.prefix(1))
    let thread = try ParkedThread(ThreadAttributes(name: "pinned", cpus: first))
    // end
    page.claim(
      "the kernel lets it run on one processor alone",
      ProcFile.status("Cpus_allowed_list", thread: thread.id) == first.kernelList)
    try thread.handle.setAffinity(allowed)
    page.claim(
      "widened again while it runs",
      ProcFile.status("Cpus_allowed_list", thread: thread.id) == allowed.kernelList)
    page.claim("no processors at all is refused", refuses(thread.handle, CPUSet()))
    try thread.end()
    page.figure("processors of this process", allowed.kernelList)
    page.figure("busy threads that make sense", AvailableParallelism.current)
  }

  private static func refuses(_ thread: ThreadHandle, _ cpus: CPUSet) -> Bool {
    do throws(ThreadingError) {
      try thread.setAffinity(cpus)
      return false
    } catch {
      return error.codeName == "EINVAL"
    }
  }
}
