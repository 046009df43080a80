import Glibc
import Synchronization
import TestSupport
import Testing
import ThreadingLocks
import ThreadingPlatform

@Suite("PosixBarrier", .endsInTime)
struct PosixBarrierTests {
  @Test("nobody passes before all have come, and one is told so", .endsInTime)
  func meets() throws {
    let barrier = try PosixBarrier(3)
    let arrived = Atomic(0)
    let told = Atomic(0)
    try concurrently(3) { _ in
      for round in 1...1_000 {
        arrived.wrappingAdd(1, ordering: .relaxed)
        if barrier.wait() { told.wrappingAdd(1, ordering: .relaxed) }
        if arrived.load(ordering: .relaxed) < 3 * round { Issue.record("passed too early") }
        barrier.wait()
      }
    }
    #expect(told.load(ordering: .relaxed) == 1_000)
  }

  @Test("a count out of range is refused")
  func range() {
    #expect { try PosixBarrier(0) } throws: {
      ($0 as? ThreadingError)?.message == "the count 0 is not between 1 and 2147483647"
    }
  }

  @Test(
    "a barrier in shared memory is one, however many objects look at it", .endsInTime)
  func shared() throws {
    let memory = SharedMemory(
      byteCount: PosixBarrier.memorySize, alignment: PosixBarrier.memoryAlignment)
    let first = try unsafe PosixBarrier(sharedAt: memory.address, 2)
    let second = unsafe PosixBarrier(attachedTo: memory.address)
    let told = AtomicCounter()
    try concurrently(2) { index in
      if (index == 0 ? first : second).wait() { told.increment() }
    }
    #expect(told.value == 1)
  }
}
