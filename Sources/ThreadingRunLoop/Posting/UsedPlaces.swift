internal import ThreadingPlatform

/// Places of one sheet that a loop has read and is about to give back: those of a row together, so
/// that it costs one step for many. Used by the loop's thread alone.
@safe
struct UsedPlaces {
  // SAFETY of @safe: the sheet lives until the places that are counted here are given back.
  private var sheet: UnsafeMutableRawPointer?
  private var count: UInt32 = 0

  /// Adds the place of a block whose contents are gone.
  @inline(__always)
  mutating func add(_ block: UnsafeMutablePointer<PostedBlock>, number: UInt32) {
    let sheet = unsafe PostSheet.sheet(of: block, number: number)
    if unsafe sheet != self.sheet {
      giveBack()
      unsafe self.sheet = sheet
    }
    count += 1
  }

  /// Gives back what was added.
  mutating func giveBack() {
    if let sheet = unsafe sheet { unsafe PostSheet.giveBack(count, of: sheet) }
    unsafe sheet = nil
    count = 0
  }
}
