internal import CThreadingPlatform
internal import Glibc
internal import Synchronization

/// Memory for what threads hand to each other, in sheets of several places: a thread writes into its
/// sheet place after place, whoever reads a place gives it back, and the last one frees the sheet.
///
/// So most posts cost no call of the allocator on either side, and what was posted in a row lies in
/// a row.
package enum PostSheet {
  // A sheet: a header of 16 bytes, in which a word counts the places that were not given back yet,
  // those that the thread has not written into included; then the places.

  /// The size of a place, in bytes.
  package static var placeSize: Int { 40 }
  /// How many places a sheet has: with one more, glibc would take it for a large block, and put its
  /// lists of small ones in order before each allocation of a sheet.
  package static var places: UInt32 { 24 }
  private static var headerSize: Int { 16 }

  /// A place to write into.
  @unsafe
  package struct Place {
    /// Where it is, at an address that is a multiple of 8.
    package let address: UnsafeMutableRawPointer
    /// Its number in the sheet, by which the sheet is found again.
    package let number: UInt32
  }

  /// The next free place of the calling thread.
  @inline(__always)
  package static func take() -> Place {
    let number = ctp_get_post_places()
    if number > 0, let sheet = unsafe ctp_get_post_sheet() {
      ctp_set_post_places(number - 1)
      return unsafe place(number - 1, of: sheet)
    }
    return unsafe takeOfNewSheet()
  }

  @inline(__always)
  private static func place(_ number: UInt32, of sheet: UnsafeMutableRawPointer) -> Place {
    unsafe Place(address: sheet + headerSize + Int(number) * placeSize, number: number)
  }

  @inline(never)
  private static func takeOfNewSheet() -> Place {
    let sheet = UnsafeMutableRawPointer.allocate(
      byteCount: headerSize + Int(places) * placeSize, alignment: 16)
    unsafe sheet.bindMemory(to: Atomic<UInt32>.self, capacity: 1).initialize(to: Atomic(places))
    // Has the system call the destructor below; its argument only has to be other than null.
    if unsafe pthread_getspecific(destructorKey) == nil {
      let code = unsafe pthread_setspecific(destructorKey, sheet)
      require(code == 0, "PostSheet: pthread_setspecific failed, errno \(code)")
    }
    unsafe ctp_set_post_sheet(sheet, places - 1)
    return unsafe place(places - 1, of: sheet)
  }

  /// The sheet of a place.
  @inline(__always)
  package static func sheet(
    of address: UnsafeMutableRawPointer, number: UInt32
  ) -> UnsafeMutableRawPointer {
    unsafe address - (headerSize + Int(number) * placeSize)
  }

  /// Gives places of a sheet back, whose contents are gone.
  package static func giveBack(_ count: UInt32, of sheet: UnsafeMutableRawPointer) {
    let word = unsafe sheet.assumingMemoryBound(to: Atomic<UInt32>.self)
    // releasing: what was read in the places is done with. acquiring, for the one that frees: pairs
    // with the releases of the others.
    let left = unsafe word.pointee.wrappingSubtract(count, ordering: .acquiringAndReleasing)
    if left.newValue == 0 { unsafe sheet.deallocate() }
  }

  /// The thread ends: the places that it did not write into go back.
  fileprivate static func endThread() {
    let left = ctp_get_post_places()
    guard let sheet = unsafe ctp_get_post_sheet() else { return }
    ctp_set_post_sheet(nil, 0)
    if left > 0 { unsafe giveBack(left, of: sheet) }
  }

  /// See ``SystemProcess/makeValues()``.
  static func makeValues() { _ = destructorKey }

  private static let destructorKey: pthread_key_t = {
    var key = pthread_key_t()
    let code = unsafe pthread_key_create(&key) { _ in PostSheet.endThread() }
    require(code == 0, "PostSheet: pthread_key_create failed, errno \(code)")
    return key
  }()
}
