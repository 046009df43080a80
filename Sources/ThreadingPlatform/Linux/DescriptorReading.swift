internal import Glibc

/// Reading from descriptors that belong to the user.
package enum DescriptorReading {
  /// What a read came to.
  package enum Outcome: Sendable {
    /// So many bytes; 0 at the end of what the descriptor delivers.
    case bytes(Int)
    /// Nothing is there at the moment.
    case nothingYet
    case failed(ThreadingError)
  }

  /// Reads what is there, at most `buffer.count` bytes.
  package static func read(
    _ descriptor: CInt, into buffer: inout [UInt8]
  ) -> Outcome {
    while true {
      let count = unsafe buffer.withUnsafeMutableBytes {
        unsafe Glibc.read(descriptor, $0.baseAddress, $0.count)
      }
      if count >= 0 { return .bytes(count) }
      switch errno {
      case EINTR: continue
      case EAGAIN: return .nothingYet
      case let code: return .failed(.refused("read", code))
      }
    }
  }

  /// Whether the descriptor is one that is always ready and cannot be polled: a regular file or a
  /// directory. False for a number that is not open.
  package static func isAlwaysReady(_ descriptor: CInt) -> Bool {
    var information = stat()
    guard unsafe fstat(descriptor, &information) == 0 else { return false }
    let kind = information.st_mode & S_IFMT
    return kind == S_IFREG || kind == S_IFDIR
  }
}
