internal import Synchronization
internal import ThreadingLocks
internal import ThreadingPlatform

/// The live threads that have a handle, found by the kernel's id.
///
/// Lists by the low bits of the id, each with a lock of its own, so that threads which begin and end at
/// once seldom meet. The lists hold no references: a thread takes its handle out before it lets go of it.
final class ThreadRegistry: Sendable {
  private let lists: [List]
  private let generation: UInt32

  private init(generation: UInt32) {
    lists = (0..<16).map { _ in List() }
    self.generation = generation
  }

  private static let latest = Atomic<UInt>(0)

  /// See ``ForkGuard``.
  static func makeValues() { _ = latest.load(ordering: .relaxed) }

  /// The registry of this process. A forked child has a new one: the locks of the parent's may have been
  /// held by threads that the child does not have.
  static var current: ThreadRegistry {
    let generation = SystemProcess.forkGeneration
    var known = latest.load(ordering: .acquiring)
    while true {
      if let pointer = unsafe UnsafeRawPointer(bitPattern: known) {
        let registry = unsafe Unmanaged<ThreadRegistry>.fromOpaque(pointer).takeUnretainedValue()
        if registry.generation == generation { return registry }
      }
      let made = unsafe Unmanaged.passRetained(ThreadRegistry(generation: generation))
      let number = unsafe UInt(bitPattern: made.toOpaque())
      // releasing: publishes the new object to the acquiring load. Never freed: others may be reading.
      let (won, original) = latest.compareExchange(
        expected: known, desired: number, ordering: .acquiringAndReleasing)
      if won { return unsafe made.takeUnretainedValue() }
      unsafe made.release()
      known = original
    }
  }

  /// Where a handle stands in a list.
  @safe struct Place {
    fileprivate var next: Unmanaged<ThreadHandle>?
    fileprivate var previous: Unmanaged<ThreadHandle>?
    fileprivate var id: UInt32 = 0
    fileprivate var generation: UInt32 = 0
    fileprivate var isListed = false
  }

  @safe private final class List: @unchecked Sendable {
    // SAFETY of @unchecked: `first` is only touched with the lock held.
    let lock = FastMutex()
    var first: Unmanaged<ThreadHandle>?
  }

  private func list(for id: UInt32) -> List { lists[Int(id) & 15] }

  /// Adds the calling thread.
  func add(_ handle: ThreadHandle) {
    let id = SystemThread.currentID
    let list = list(for: id)
    list.lock.withLock {
      let first = unsafe list.first
      let own = unsafe Unmanaged.passUnretained(handle)
      unsafe handle.place = Place(next: first, id: id, generation: generation, isListed: true)
      unsafe first?.takeUnretainedValue().place.previous = own
      unsafe list.first = own
    }
  }

  /// Takes the calling thread out. One that came here by a fork is in the parent's list, which is gone.
  func remove(_ handle: ThreadHandle) {
    let list = list(for: SystemThread.currentID)
    list.lock.withLock {
      let place = unsafe handle.place
      guard place.isListed && place.generation == generation else { return }
      unsafe place.next?.takeUnretainedValue().place.previous = place.previous
      if let previous = unsafe place.previous {
        unsafe previous.takeUnretainedValue().place.next = place.next
      } else {
        unsafe list.first = place.next
      }
      unsafe handle.place.isListed = false
    }
  }

  /// The handle of a live thread, by the kernel's id; nil for one that has none.
  func handle(of id: UInt32) -> ThreadHandle? {
    let list = list(for: id)
    return list.lock.withLock {
      var next = unsafe list.first
      while let handle = unsafe next?.takeUnretainedValue() {
        if unsafe handle.place.id == id { return handle }
        unsafe next = handle.place.next
      }
      return nil
    }
  }
}
