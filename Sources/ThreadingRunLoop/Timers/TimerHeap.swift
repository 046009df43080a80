internal import ThreadingPlatform

/// Timers by the moment at which they fire; those of one moment in the order in which they were
/// scheduled. A heap in which each entry has four children: O(log n) to insert and to remove.
///
/// When many are due at once, they are taken out of the heap together and sorted, which costs less than
/// taking the first of a large heap so many times.
///
/// Guarded by the lock of the loop's items. Holds its timers strongly.
@safe
struct TimerHeap {
  /// What is moved about in the heap. The timer itself is not touched for that: of many timers, most
  /// are not in the processor's cache.
  private struct Entry {
    let moment: Int64
    let sequence: UInt64
    var slot: Int32

    @inline(__always)
    func isBefore(_ other: Entry) -> Bool {
      moment < other.moment || (moment == other.moment && sequence < other.sequence)
    }
  }

  private var entries: [Entry] = []
  /// Those that were taken out of the heap together, in order, from `gatheredPosition` on. The slot of
  /// one that has gone is -1; the one at that position is there, unless all have gone.
  private var gathered: [Entry] = []
  private var gatheredPosition = 0
  private var gatheredCount = 0

  /// For each slot the place of its entry: in the heap from 0 up, among the gathered ones from -2 down.
  /// For a free one the next free slot, or -1 for none.
  private var places: [Int32] = []
  // SAFETY of @safe: the reference of a slot that is in use is one that the heap holds; the unsafe
  // buffers are used inside the calls that give them, at indices of the arrays.
  private var timers: [Unmanaged<ThreadTimer>?] = unsafe []
  private var firstFree: Int32 = -1

  var isEmpty: Bool { count == 0 }
  var count: Int { entries.count + gatheredCount }

  /// The moment and the sequence number of the timer to fire first.
  var first: (moment: Int64, sequence: UInt64)? {
    guard let entry = firstEntry else { return nil }
    return (entry.moment, entry.sequence)
  }

  @inline(__always)
  private var firstEntry: Entry? {
    guard gatheredCount > 0 else { return entries.first }
    let entry = gathered[gatheredPosition]
    if let inHeap = entries.first, inHeap.isBefore(entry) { return inHeap }
    return entry
  }

  /// Adds a timer that is in no heap.
  ///
  /// - Returns: whether it is now the first.
  mutating func insert(_ timer: ThreadTimer, at moment: Int64, sequence: UInt64) -> Bool {
    let slot = takeSlot()
    unsafe timers[Int(slot)] = .passRetained(timer)
    timer.heapSlot = slot
    let entry = Entry(moment: moment, sequence: sequence, slot: slot)
    entries.append(entry)
    let isFirst = siftUp(entries.count - 1, entry) == 0
    return isFirst && (gatheredCount == 0 || entry.isBefore(gathered[gatheredPosition]))
  }

  /// Takes the first timer out.
  mutating func popFirst() -> ThreadTimer { remove(slot: firstEntry!.slot) }

  /// Takes a timer out, given its `heapSlot`.
  @discardableResult
  mutating func remove(slot: Int32) -> ThreadTimer {
    let place = Int(places[Int(slot)])
    if place < 0 { removeGathered(-2 - place) } else { removeEntry(place) }
    places[Int(slot)] = firstFree
    firstFree = slot
    let timer = unsafe timers[Int(slot)]!.takeRetainedValue()
    unsafe timers[Int(slot)] = nil
    timer.heapSlot = -1
    return timer
  }

  private mutating func removeEntry(_ index: Int) {
    let last = entries.removeLast()
    guard index < entries.count else { return }
    if index > 0 && last.isBefore(entries[(index - 1) / 4]) {
      _ = siftUp(index, last)
    } else {
      siftDown(index, last)
    }
  }

  private mutating func removeGathered(_ index: Int) {
    gathered[index].slot = -1
    gatheredCount -= 1
    if gatheredCount == 0 {
      gathered = []
      gatheredPosition = 0
      return
    }
    while gathered[gatheredPosition].slot < 0 { gatheredPosition += 1 }
  }

  /// Prepares for taking out all timers until a moment, one after the other.
  mutating func gather(until moment: Int64) {
    guard gatheredCount == 0, entries.count >= 64, entries[0].moment <= moment else { return }
    // A look at some tells about how many of them there are.
    let step = entries.count / 16
    let isDue = (0..<16).count { entries[$0 * step].moment <= moment }
    guard isDue >= 4 else { return }
    var due: [Entry] = []
    due.reserveCapacity(entries.count / 16 * isDue)
    var kept = 0
    for entry in entries {
      if entry.moment <= moment {
        due.append(entry)
      } else {
        entries[kept] = entry
        kept += 1
      }
    }
    entries.removeLast(entries.count - kept)
    for (index, entry) in entries.enumerated() { places[Int(entry.slot)] = Int32(index) }
    if kept > 1 {
      for index in (0...(kept - 2) / 4).reversed() { siftDown(index, entries[index]) }
    }
    due.sort { $0.isBefore($1) }
    for (index, entry) in due.enumerated() { places[Int(entry.slot)] = Int32(-2 - index) }
    gathered = due
    gatheredPosition = 0
    gatheredCount = due.count
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
    unsafe entries.withUnsafeMutableBufferPointer { entries in
      unsafe places.withUnsafeMutableBufferPointer { places in
        var index = start
        while index > 0 {
          let parent = (index - 1) / 4
          let above = unsafe entries[parent]
          guard entry.isBefore(above) else { break }
          unsafe entries[index] = above
          unsafe places[Int(above.slot)] = Int32(truncatingIfNeeded: index)
          index = parent
        }
        unsafe entries[index] = entry
        unsafe places[Int(entry.slot)] = Int32(truncatingIfNeeded: index)
        return index
      }
    }
  }

  /// Moves the hole at `index` down to where `entry` belongs and puts it there.
  private mutating func siftDown(_ start: Int, _ entry: Entry) {
    unsafe entries.withUnsafeMutableBufferPointer { entries in
      unsafe places.withUnsafeMutableBufferPointer { places in
        var index = start
        let count = entries.count
        while true {
          let firstChild = index * 4 + 1
          guard firstChild < count else { break }
          var least = firstChild
          var below = unsafe entries[firstChild]
          var child = firstChild + 1
          let end = min(firstChild + 4, count)
          while child < end {
            let other = unsafe entries[child]
            if other.isBefore(below) {
              least = child
              below = other
            }
            child += 1
          }
          guard below.isBefore(entry) else { break }
          unsafe entries[index] = below
          unsafe places[Int(below.slot)] = Int32(truncatingIfNeeded: index)
          index = least
        }
        unsafe entries[index] = entry
        unsafe places[Int(entry.slot)] = Int32(truncatingIfNeeded: index)
      }
    }
  }
}
