import Glibc

/// A file, written through a buffer of fixed size.
final class OutputFile {
  private let path: String
  private let descriptor: CInt
  private var buffer: [UInt8] = []

  private static let bufferSize = 65_536

  /// Makes the file.
  ///
  /// - Parameters:
  ///   - path: where.
  ///   - replaces: whether it may be there, and is then written anew.
  /// - Throws: `FileError` if the system refuses, or the file is there and must not be.
  init(path: String, replaces: Bool = false) throws(FileError) {
    // Without O_NOFOLLOW, somebody's link in a folder for all could lead to a file of the reader's.
    let existing = replaces ? O_TRUNC | O_NOFOLLOW : O_EXCL
    let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_CLOEXEC | existing, 0o644)
    guard descriptor >= 0 else { throw FileError(action: "make", path: path, code: errno) }
    self.path = path
    self.descriptor = descriptor
    buffer.reserveCapacity(Self.bufferSize + 4_096)
  }

  deinit {
    close(descriptor)
  }

  /// Adds text.
  ///
  /// - Throws: `FileError` if the system refuses.
  func write(_ text: String) throws(FileError) {
    try write(Array(text.utf8))
  }

  /// Adds bytes.
  ///
  /// - Throws: `FileError` if the system refuses.
  func write(_ bytes: [UInt8]) throws(FileError) {
    buffer.append(contentsOf: bytes)
    if buffer.count >= Self.bufferSize { try flush() }
  }

  /// Hands everything to the system.
  ///
  /// - Throws: `FileError` if the system refuses.
  func flush() throws(FileError) {
    var start = 0
    while start < buffer.count {
      let count = unsafe buffer.withUnsafeBytes { bytes in
        unsafe Glibc.write(descriptor, bytes.baseAddress! + start, bytes.count - start)
      }
      if count >= 0 {
        start += count
      } else if errno != EINTR {
        throw FileError(action: "write", path: path, code: errno)
      }
    }
    buffer.removeAll(keepingCapacity: true)
  }
}
