import Glibc
import Threading

/// What a thread costs. `README.md` beside this file explains it.
enum CostChapter: Chapter {
  static let number = 2
  static let name = "cost"
  static let title = "What a thread costs"
  static let folder = "02-What-A-Thread-Costs"
  static let threads = 72
  static let parts = [
    Part("large-stack") { page in page.say("reached: \(try depth(onStackOf: 16 << 20))") },
    Part("small-stack") { page in page.say("reached: \(try depth(onStackOf: 64 << 10))") },
  ]

  static func run(on page: Page) throws {
    page.section("A small stack")
    let stack = try stackOfSmallThread()
    page.claim("a thread of 40,960 bytes of stack runs", stack.answer == 42)
    let aboutGuard = "below its stack lies a guard that nothing may touch"
    // The address sanitizer keeps variables elsewhere, so the stack is not found by the place of one.
    if Sanitizer.isAddress { page.skip(aboutGuard) } else { page.claim(aboutGuard, stack.hasGuard) }
    page.figure("its stack in /proc/self/maps", stack.line)

    let usage = try usageOfStack()
    let aboutMarks = "100 calls of 1 KiB have left their marks on one of 1 MiB"
    // The address sanitizer keeps variables elsewhere.
    if Sanitizer.isAddress {
      page.skip(aboutMarks)
    } else {
      page.claim(aboutMarks, (100 << 10..<1 << 20).contains(usage.highWaterMark))
    }
    page.figure(
      "used", "\(usage.highWaterMark / 1_024) KiB at most, of \(usage.size / 1_024) KiB")

    page.section("Time")
    let times = try startingTimes()
    page.figure("start and join a thread", "\(Figures.tenths(times.thread)) us")
    page.figure("hand a job to a waiting thread", "\(Figures.tenths(times.handOver)) us")
    page.figure("call a function", "\(Figures.tenths(times.call * 1_000)) ns")
    page.claim("a new thread costs more than a thousand calls", times.thread > 1_000 * times.call)

    page.section("Memory")
    let memory = try memoryOfThreads(count: 64, stackSize: 8 << 20) { number in
      page.live(Bars.text([Double(number) / 64], width: 40))
      // For the eye: they would all be there in a moment.
      if page.isTerminal { try? ThreadHandle.sleep(for: .milliseconds(8)) }
    }
    // A few stacks of former threads are kept by the C library and used again.
    page.claim(
      "64 stacks of 8 MiB take some 512 MiB of addresses", memory.addresses >= 58 * 8 << 20)
    page.claim("but less than a tenth of it as memory", memory.resident < 64 * 8 << 20 / 10)
    page.figure("memory per thread", "\(memory.resident / 64 / 1_024) KiB")

    page.section("A stack that is too small (each in a process of its own)")
    let large = try ChildProcess.run("large-stack", of: Self.self)
    page.claim("4,000 calls of 1 KiB fit 16 MiB", large.output == "  reached: 4000\n")
    let small = try ChildProcess.run("small-stack", of: Self.self)
    page.claim("on 64 KiB they run into the guard: SIGSEGV", small.hasCrashed(by: SIGSEGV))
  }
}
