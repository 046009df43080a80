internal import Glibc

/// Small files of the kernel's own file systems.
package enum SystemFile {
  /// The contents of a file, or nil when it cannot be read. For files of at most 64 KiB: more is cut
  /// off.
  package static func text(of path: String) -> String? { try? textIfThere(of: path) }

  /// The contents of a file, or nil when there is none or it cannot be read. For files of at most 64 KiB:
  /// more is cut off.
  ///
  /// - Throws: when nothing can be said, for want of a descriptor or of memory (`EMFILE`, `ENFILE`, `ENOMEM`).
  package static func textIfThere(of path: String) throws(ThreadingError) -> String? {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    if descriptor < 0 {
      try throwIfUsedUp("open", errno)
      return nil
    }
    defer { _ = close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    var count = 0
    while count < bytes.count {
      let got = unsafe bytes.withUnsafeMutableBytes { buffer in
        unsafe read(descriptor, buffer.baseAddress?.advanced(by: count), buffer.count - count)
      }
      if got < 0 && errno == EINTR { continue }
      if got < 0 { return nil }
      if got == 0 { break }
      count += got
    }
    return String(decoding: bytes[..<count], as: UTF8.self)
  }

  /// - Throws: for a code which says that something of the process's or the system's is used up.
  static func throwIfUsedUp(_ call: String, _ code: CInt) throws(ThreadingError) {
    if code == EMFILE || code == ENFILE { throw .descriptorRefused(call, code) }
    if code == ENOMEM { throw .refused(call, code) }
  }
}
