internal import ThreadingPlatform

/// Timers by the moment at which they fire; those of one moment in the order in which they were
/// scheduled. A heap in which each entry has four children: O(log n) to insert and to remove.
///
/// Guarded by the lock of the loop's items. Holds its timers strongly.
@safe
struct TimerHeap {
  /// What is moved about in the heap. The timer itself is not touched for that: of many timers, most
  /// are not in the processor's cache.
  private struct Entry {
    let moment: Int64
    let sequence: UInt64
    let slot: Int32

    @inline(__always)
    func isBefore(_ other: Entry) -> Bool {
      moment < other.moment || (moment == other.moment && sequence < other.sequence)
    }
  }

  private var entries: [Entry] = []
  /// For each slot the place of its entry in the heap, or the next free slot, or -1 for none.
  private var places: [Int32] = []
  // SAFETY of @safe: the reference of a slot that is in use is one that the heap holds.
  private var timers: [Unmanaged<ThreadTimer>?] = unsafe []
  private var firstFree: Int32 = -1

  var isEmpty: Bool { entries.isEmpty }
  var count: Int { entries.count }

  /// The moment and the sequence number of the timer to fire first.
  var first: (moment: Int64, sequence: UInt64)? {
    guard let entry = entries.first else { return nil }
    return (entry.moment, entry.sequence)
  }

  /// Adds a timer that is in no heap.
  ///
  /// - Returns: whether it is now the first.
  mutating func insert(_ timer: ThreadTimer, at moment: Int64, sequence: UInt64) -> Bool {
    let slot = takeSlot()
    unsafe timers[Int(slot)] = .passRetained(timer)
    timer.heapSlot = Int(slot)
    let entry = Entry(moment: moment, sequence: sequence, slot: slot)
    entries.append(entry)
    return siftUp(entries.count - 1, entry) == 0
  }

  /// Takes the first timer out.
  mutating func popFirst() -> ThreadTimer { remove(slot: Int(entries[0].slot)) }

  /// Takes a timer out, given its `heapSlot`.
  @discardableResult
  mutating func remove(slot: Int) -> ThreadTimer {
    let index = Int(places[slot])
    let last = entries.removeLast()
    if index < entries.count {
      if index > 0 && last.isBefore(entries[(index - 1) / 4]) {
        _ = siftUp(index, last)
      } else {
        siftDown(index, last)
      }
    }
    places[slot] = firstFree
    firstFree = Int32(slot)
    let timer = unsafe timers[slot]!.takeRetainedValue()
    unsafe timers[slot] = nil
    timer.heapSlot = -1
    return timer
  }

  private mutating func takeSlot() -> Int32 {
    let slot = firstFree
    if slot >= 0 {
      firstFree = places[Int(slot)]
      return slot
    }
    places.append(0)
    unsafe timers.append(nil)
    return Int32(places.count - 1)
  }

  /// Moves the hole at `index` up to where `entry` belongs and puts it there.
  private mutating func siftUp(_ start: Int, _ entry: Entry) -> Int {
    var index = start
    while index > 0 {
      let parent = (index - 1) / 4
      guard entry.isBefore(entries[parent]) else { break }
      put(entries[parent], index)
      index = parent
    }
    put(entry, index)
    return index
  }

  /// Moves the hole at `index` down to where `entry` belongs and puts it there.
  private mutating func siftDown(_ start: Int, _ entry: Entry) {
    var index = start
    let count = entries.count
    while true {
      let firstChild = index * 4 + 1
      guard firstChild < count else { break }
      var least = firstChild
      for child in (firstChild + 1)..<max(firstChild + 1, min(firstChild + 4, count))
      where entries[child].isBefore(entries[least]) {
        least = child
      }
      guard entries[least].isBefore(entry) else { break }
      put(entries[least], index)
      index = least
    }
    put(entry, index)
  }

  @inline(__always)
  private mutating func put(_ entry: Entry, _ index: Int) {
    entries[index] = entry
    places[Int(entry.slot)] = Int32(index)
  }
}
