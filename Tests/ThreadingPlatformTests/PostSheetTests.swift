import TestSupport
import Testing
import ThreadingPlatform

@Suite("Sheets for posts", .endsInTime)
struct PostSheetTests {
  @Test("places lie apart, at multiples of 8, and lead back to their sheets")
  func places() throws {
    try concurrently(2) { _ in
      var addresses: [Int] = []
      var sheets: [UnsafeMutableRawPointer: UInt32] = unsafe [:]
      for _ in 0..<Int(PostSheet.places) * 3 {
        let place = unsafe PostSheet.take()
        unsafe addresses.append(Int(bitPattern: place.address))
        unsafe place.address.initializeMemory(
          as: UInt8.self, repeating: 0xFF, count: PostSheet.placeSize)
        let sheet = unsafe PostSheet.sheet(of: place.address, number: place.number)
        unsafe sheets[sheet, default: 0] += 1
      }
      #expect(addresses.allSatisfy { $0 % 8 == 0 })
      addresses.sort()
      for (one, next) in zip(addresses, addresses.dropFirst()) {
        #expect(next - one >= PostSheet.placeSize)
      }
      let counts = unsafe sheets.values.map { $0 }
      #expect(counts == [PostSheet.places, PostSheet.places, PostSheet.places])
      for unsafe(sheet, count) in unsafe sheets { unsafe PostSheet.giveBack(count, of: sheet) }
    }
  }

  @Test(
    "what is given back is freed, on whichever thread, and with the thread what is left over",
    .disabled(if: AllocatingSanitizer.isActive, "the sanitizer has an allocator of its own"))
  func freed() async {
    // In a process of its own, since the memory that is counted is that of all its threads.
    await #expect(processExitsWith: .success) {
      // Warm-up: what the first threads leave in the allocator.
      for _ in 0..<10 { try useSheets(100) }
      let before = ProcessFigures.now().residentBytes
      for _ in 0..<1_000 { try useSheets(1_010) }
      // Unfreed, it would be 40 MB, and 1 MB of what the threads did not write into.
      let growth = ProcessFigures.now().residentBytes - before
      precondition(growth < 15_000_000, "\(growth)")
    }
  }
}

/// Takes places on a thread that ends, and gives them back on this one.
private func useSheets(_ count: Int) throws {
  let taken = Taken(count)
  try concurrently(1) { _ in
    for index in 0..<count {
      let place = unsafe PostSheet.take()
      unsafe taken.sheets[index] = PostSheet.sheet(of: place.address, number: place.number)
    }
  }
  for index in 0..<count { unsafe PostSheet.giveBack(1, of: taken.sheets[index]!) }
}

/// Where a thread leaves addresses.
@safe
private final class Taken: @unchecked Sendable {
  // SAFETY of @safe: written by one thread, and read after it was joined.
  let sheets: UnsafeMutablePointer<UnsafeMutableRawPointer?>

  init(_ count: Int) {
    unsafe sheets = .allocate(capacity: count)
    unsafe sheets.initialize(repeating: nil, count: count)
  }

  deinit { unsafe sheets.deallocate() }
}
