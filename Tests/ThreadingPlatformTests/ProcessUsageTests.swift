import Glibc
import TestSupport
import Testing
import ThreadingPlatform

@Suite("ProcessUsage", .endsInTime)
struct ProcessUsageTests {
  @Test("processor time of another thread counts, and stays once that has ended")
  func processorTime() throws {
    let before = ProcessUsage.now()
    let busy: Int64 = 30_000_000
    try SystemThread.start(.init()) {
      let start = ProcessUsage.now().cpuNanoseconds
      while ProcessUsage.now().cpuNanoseconds - start < busy {}
    }.join()
    #expect((ProcessUsage.now() - before).cpuNanoseconds >= busy)
  }

  @Test("a thread that waits gives up its processor")
  func voluntarySwitches() {
    let before = ProcessUsage.now()
    for _ in 0..<10 { SystemThread.sleep(until: .now.advanced(by: .milliseconds(1))) }
    let used = ProcessUsage.now() - before
    #expect(used.voluntarySwitches >= 10)
    #expect(used.switches == used.voluntarySwitches + used.involuntarySwitches)
  }
}

@Suite("ProcessMemory", .endsInTime)
struct ProcessMemoryTests {
  @Test(
    "what the allocator gives out and takes back is seen",
    .disabled(if: AllocatingSanitizer.isActive))
  func heap() async {
    // In a process of its own: the figures are those of the whole process.
    await #expect(processExitsWith: .success) { ProcessMemoryTests().checkHeap() }
  }

  fileprivate func checkHeap() {
    let size = 8 << 20
    let before = ProcessMemory.now()
    let block = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
    unsafe block.initializeMemory(as: UInt8.self, repeating: 1, count: size)
    let held = ProcessMemory.now()
    unsafe block.deallocate()
    ProcessMemory.returnFreeMemory()
    let after = ProcessMemory.now()
    // The test library's own threads allocate too; none of them half as much.
    let half = Int64(size / 2)
    #expect(held.heapBytes - before.heapBytes > half)
    #expect(held.residentBytes - before.residentBytes > half)
    #expect(held.heapBytes - after.heapBytes > half)
    #expect(held.addressBytes > held.residentBytes)
  }
}
