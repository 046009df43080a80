import Glibc
import Synchronization
import Testing
import ThreadingLocks

/// Memory that two processes share: the test's own, and the child of an exit test.
///
/// It begins with two semaphores by which the two find each other, a place for numbers, and then
/// has room for the objects that the test is about.
@safe
final class SharedRegion: @unchecked Sendable {
  /// What the other process finds it by.
  let name: String
  private let address: UnsafeMutableRawPointer
  private let isMaker: Bool
  /// Posted by each process when it is ready.
  private let here: PosixSemaphore
  private let there: PosixSemaphore

  private static let size = 4_096

  /// Makes the memory, in the parent.
  init(making name: String) throws {
    self.name = "/swift-threading-test-\(getpid())-\(name)"
    isMaker = true
    unsafe address = try Self.map(self.name, O_RDWR | O_CREAT | O_EXCL)
    here = try unsafe PosixSemaphore(sharedAt: address, 0)
    there = try unsafe PosixSemaphore(sharedAt: address + 64, 0)
  }

  /// Finds the memory, in the child.
  init(finding name: String) throws {
    self.name = name
    isMaker = false
    unsafe address = try Self.map(name, O_RDWR)
    there = unsafe PosixSemaphore(attachedTo: address)
    here = unsafe PosixSemaphore(attachedTo: address + 64)
  }

  deinit {
    unsafe munmap(address, Self.size)
    if isMaker { unsafe shm_unlink(name) }
  }

  private static func map(_ name: String, _ flags: CInt) throws -> UnsafeMutableRawPointer {
    let descriptor = unsafe shm_open(name, flags, 0o600)
    try #require(descriptor >= 0, "shm_open of \(name)")
    defer { close(descriptor) }
    try #require(ftruncate(descriptor, size) == 0)
    let memory = unsafe mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
    guard let memory = unsafe memory, unsafe memory != MAP_FAILED else {
      fatalError("mmap of \(name) failed with errno \(errno)")
    }
    return unsafe memory
  }

  /// Room for the object of a number, from 0.
  func place(_ number: Int = 0) -> UnsafeMutableRawPointer {
    unsafe address + 1_024 + 256 * number
  }

  /// A number that both see and nothing guards but the object that the test is about.
  subscript(index: Int) -> Int {
    get { unsafe (address + 128).assumingMemoryBound(to: Int.self)[index] }
    set { unsafe (address + 128).assumingMemoryBound(to: Int.self)[index] = newValue }
  }

  /// Returns when the other process has come here too, or fails after half a minute. What each did
  /// before is seen by the other after.
  func meet() throws {
    try here.post()
    try #require(there.wait(for: .seconds(30)), "the other process did not come")
  }
}
