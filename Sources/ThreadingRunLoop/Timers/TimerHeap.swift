internal import ThreadingPlatform

/// Timers by the moment at which they fire; those of one moment in the order in which they were
/// scheduled. A heap in which each entry has four children: O(log n) to insert and to remove.
///
/// Guarded by the lock of the loop's items. Holds its timers strongly.
struct TimerHeap {
  @safe
  private struct Entry {
    // SAFETY of @safe: the reference is one that the heap holds.
    let moment: Int64
    let sequence: UInt64
    let timer: Unmanaged<ThreadTimer>

    func isBefore(_ other: Entry) -> Bool {
      moment < other.moment || (moment == other.moment && sequence < other.sequence)
    }
  }

  private var entries: [Entry] = []

  var isEmpty: Bool { entries.isEmpty }
  var count: Int { entries.count }

  /// The moment and the sequence number of the timer to fire first.
  var first: (moment: MonotonicInstant, sequence: UInt64)? {
    guard let entry = entries.first else { return nil }
    return (MonotonicInstant(nanoseconds: entry.moment), entry.sequence)
  }

  /// Adds a timer that is in no heap.
  ///
  /// - Returns: whether it is now the first.
  mutating func insert(
    _ timer: ThreadTimer, at moment: MonotonicInstant, sequence: UInt64
  ) -> Bool {
    let entry = unsafe Entry(
      moment: moment.nanoseconds, sequence: sequence, timer: .passRetained(timer))
    entries.append(entry)
    return siftUp(entries.count - 1, entry) == 0
  }

  /// Takes the first timer out.
  mutating func popFirst() -> ThreadTimer { remove(at: 0) }

  /// Takes a timer out, given its `heapIndex`.
  @discardableResult
  mutating func remove(at index: Int) -> ThreadTimer {
    let removed = entries[index]
    let last = entries.removeLast()
    if index < entries.count {
      if index > 0 && last.isBefore(entries[(index - 1) / 4]) {
        _ = siftUp(index, last)
      } else {
        siftDown(index, last)
      }
    }
    let timer = unsafe removed.timer.takeRetainedValue()
    timer.heapIndex = -1
    return timer
  }

  /// Moves the hole at `index` up to where `entry` belongs and puts it there.
  private mutating func siftUp(_ start: Int, _ entry: Entry) -> Int {
    var index = start
    while index > 0 {
      let parent = (index - 1) / 4
      guard entry.isBefore(entries[parent]) else { break }
      place(entries[parent], index)
      index = parent
    }
    place(entry, index)
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
      place(entries[least], index)
      index = least
    }
    place(entry, index)
  }

  private mutating func place(_ entry: Entry, _ index: Int) {
    entries[index] = entry
    // SAFETY: the heap holds the timer.
    unsafe entry.timer._withUnsafeGuaranteedRef { $0.heapIndex = index }
  }
}
