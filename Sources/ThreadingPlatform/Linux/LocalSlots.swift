internal import CThreadingPlatform

/// The calling thread's values of the package's thread-local variables.
///
/// The table is an array that grows; it hangs from a thread-local variable of the C library's kind, so
/// thousands of variables need no key of the system. Whoever stores in it sees to it that
/// its values are taken out and ``free()`` is called before the thread ends.
package enum LocalSlots {
  /// Puts a value in, or replaces the one that is there.
  ///
  /// - Parameters:
  ///   - index: the number of the variable.
  ///   - owner: what tells the variable from an earlier one of that number.
  ///   - value: where the value lies.
  ///   - box: what owns the value.
  /// - Returns: the owner of the value that was there, for the caller to release.
  package static func store(
    _ index: Int, owner: UInt64, value: UnsafeMutableRawPointer, box: AnyObject
  ) -> AnyObject? {
    if index >= ctp_get_local_count() { grow(toHold: index) }
    guard let slots = unsafe ctp_get_local_slots() else { fatalError("LocalSlots: no table") }
    let old = unsafe slots[index].box
    unsafe slots[index] = ctp_local_slot(
      owner: owner, value: value, box: Unmanaged.passRetained(box).toOpaque())
    return unsafe old.map { unsafe Unmanaged<AnyObject>.fromOpaque($0).takeRetainedValue() }
  }

  /// Takes a value out.
  ///
  /// - Returns: the owner of the value, for the caller to release.
  package static func take(_ index: Int) -> AnyObject? {
    guard index < ctp_get_local_count(), let slots = unsafe ctp_get_local_slots(),
      let box = unsafe slots[index].box
    else { return nil }
    unsafe slots[index] = ctp_local_slot(owner: 0, value: nil, box: nil)
    return unsafe Unmanaged<AnyObject>.fromOpaque(box).takeRetainedValue()
  }

  /// The owner of the value at an index, whichever variable it belongs to.
  package static func box(_ index: Int) -> AnyObject? {
    guard index < ctp_get_local_count(), let slots = unsafe ctp_get_local_slots(),
      let box = unsafe slots[index].box
    else { return nil }
    return unsafe Unmanaged<AnyObject>.fromOpaque(box).takeUnretainedValue()
  }

  /// Marks a value of the calling thread, which is there, as the one of a variable, or by 0 as being
  /// changed.
  package static func setOwner(_ owner: UInt64, at index: Int) {
    if let slots = unsafe ctp_get_local_slots() { unsafe slots[index].owner = owner }
  }

  /// How many variables the table has room for.
  package static var count: Int { ctp_get_local_count() }

  /// Returns the memory of the table, whose values have been taken out.
  package static func free() {
    unsafe ctp_get_local_slots()?.deallocate()
    ctp_set_local_slots(nil, 0)
  }

  private static func grow(toHold index: Int) {
    let oldCount = ctp_get_local_count()
    let count = max(8, index + 1, oldCount * 2)
    let slots = UnsafeMutablePointer<ctp_local_slot>.allocate(capacity: count)
    unsafe slots.initialize(
      repeating: ctp_local_slot(owner: 0, value: nil, box: nil), count: count)
    if let old = unsafe ctp_get_local_slots() {
      unsafe slots.update(from: old, count: oldCount)
      unsafe old.deallocate()
    }
    unsafe ctp_set_local_slots(slots, count)
  }
}
