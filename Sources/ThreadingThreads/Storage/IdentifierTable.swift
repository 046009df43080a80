/// Objects by type: a small hash table for the typed keys of a thread's dictionary.
///
/// Open addressing with linear probing; grows at three quarters full. Removal moves later entries of
/// the run back, so there are no graves. A lookup in a table of few keys is one multiplication and
/// about one comparison, and touches no reference count.
@safe
package struct IdentifierTable: ~Copyable {
  // SAFETY of @safe: `slots` points to `capacity` initialised slots, or is nil with a capacity of 0;
  // each slot with a key owns its object.

  @safe
  private struct Slot {
    /// 0 marks a free slot: no type has that address.
    var key: UInt
    var object: Unmanaged<AnyObject>?
  }

  private var slots: UnsafeMutablePointer<Slot>?
  /// A power of two, or 0 before the first insertion.
  private var capacity = 0
  package private(set) var count = 0

  package init() {
    unsafe slots = nil
  }

  deinit {
    for index in 0..<capacity { unsafe slots?[index].object?.release() }
    unsafe slots?.deallocate()
  }

  package var isEmpty: Bool { count == 0 }

  /// The object of a key, still owned by the table.
  package func find(_ key: ObjectIdentifier) -> Unmanaged<AnyObject>? {
    guard capacity > 0, let slots = unsafe slots else { return nil }
    let index = position(of: UInt(bitPattern: key))
    return unsafe slots[index].object
  }

  /// Puts an object under a key, or takes the key out.
  ///
  /// - Returns: the object that was there.
  package mutating func set(_ object: AnyObject?, for key: ObjectIdentifier) -> AnyObject? {
    guard let object else { return remove(key) }
    if (count + 1) * 4 > capacity * 3 { grow() }
    guard let slots = unsafe slots else { fatalError("IdentifierTable: no slots after growing") }
    let index = position(of: UInt(bitPattern: key))
    let old = unsafe slots[index].object
    if unsafe old == nil { count += 1 }
    unsafe slots[index] = Slot(
      key: UInt(bitPattern: key), object: Unmanaged.passRetained(object))
    return unsafe old?.takeRetainedValue()
  }

  private mutating func remove(_ key: ObjectIdentifier) -> AnyObject? {
    guard capacity > 0, let slots = unsafe slots else { return nil }
    var hole = position(of: UInt(bitPattern: key))
    guard let old = unsafe slots[hole].object else { return nil }
    count -= 1
    let mask = capacity - 1
    var next = hole
    while true {
      unsafe slots[hole] = Slot(key: 0, object: nil)
      // The first entry behind the hole that may not stand behind it fills it.
      repeat {
        next = (next + 1) & mask
        if unsafe slots[next].key == 0 { return unsafe old.takeRetainedValue() }
      } while unsafe (next &- home(of: slots[next].key)) & mask < (next &- hole) & mask
      unsafe slots[hole] = slots[next]
      hole = next
    }
  }

  /// Where a key is, or else the free slot where it would be put.
  private func position(of key: UInt) -> Int {
    guard let slots = unsafe slots else { return 0 }
    var index = home(of: key)
    while unsafe slots[index].key != key && slots[index].key != 0 {
      index = (index + 1) & (capacity - 1)
    }
    return index
  }

  /// Addresses of types differ in their middle bits; the multiplication (by 2^64 over the golden
  /// ratio) brings those to the top.
  private func home(of key: UInt) -> Int {
    let mixed = UInt64(truncatingIfNeeded: key) &* 0x9E37_79B9_7F4A_7C15
    return Int(truncatingIfNeeded: mixed >> 32) & (capacity - 1)
  }

  private mutating func grow() {
    let oldSlots = unsafe slots
    let oldCapacity = capacity
    capacity = max(8, oldCapacity * 2)
    let newSlots = UnsafeMutablePointer<Slot>.allocate(capacity: capacity)
    unsafe newSlots.initialize(repeating: Slot(key: 0, object: nil), count: capacity)
    unsafe slots = newSlots
    for index in 0..<oldCapacity {
      guard let slot = unsafe oldSlots?[index], slot.key != 0 else { continue }
      unsafe newSlots[position(of: slot.key)] = slot
    }
    unsafe oldSlots?.deallocate()
  }
}
