/// Memory such as processes share: here, two objects of one process look at it.
@safe
final class SharedMemory: @unchecked Sendable {
  let address: UnsafeMutableRawPointer

  init(byteCount: Int, alignment: Int) {
    unsafe address = .allocate(byteCount: byteCount, alignment: alignment)
  }

  deinit { unsafe address.deallocate() }
}
