import Glibc

/// A descriptor of the system, closed with the object.
final class Descriptor: Sendable {
  let number: CInt

  init(_ number: CInt) { self.number = number }

  deinit { close(number) }

  /// Both ends of a pipe.
  ///
  /// - Throws: `FileError` if the system refuses.
  static func pipe() throws(FileError) -> (reading: Descriptor, writing: Descriptor) {
    var ends: [CInt] = [0, 0]
    guard unsafe Glibc.pipe(&ends) == 0 else {
      throw FileError(action: "make", path: "a pipe", code: errno)
    }
    // No child process shall have them but one that is given them: a pipe ends when all ends for
    // writing are closed.
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (Descriptor(ends[0]), Descriptor(ends[1]))
  }

  /// A file, open for reading.
  ///
  /// - Throws: `FileError` if the system refuses.
  static func open(_ path: String) throws(FileError) -> Descriptor {
    let descriptor = unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw FileError(action: "open", path: path, code: errno) }
    return Descriptor(descriptor)
  }

  /// Two sockets that are connected with each other.
  ///
  /// - Throws: `FileError` if the system refuses.
  static func socketPair() throws(FileError) -> (Descriptor, Descriptor) {
    var ends: [CInt] = [0, 0]
    let kind = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
    guard unsafe socketpair(AF_UNIX, kind, 0, &ends) == 0 else {
      throw FileError(action: "make", path: "a pair of sockets", code: errno)
    }
    return (Descriptor(ends[0]), Descriptor(ends[1]))
  }

  /// Writes a text; returns whether it was taken.
  func write(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    return unsafe Glibc.write(number, bytes, bytes.count) == bytes.count
  }

  /// Reads what is there, or waits for it; empty at the end.
  func read() -> String {
    var bytes = [UInt8](repeating: 0, count: 4_096)
    var count = unsafe Glibc.read(number, &bytes, bytes.count)
    while count < 0 && errno == EINTR {
      count = unsafe Glibc.read(number, &bytes, bytes.count)
    }
    return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
  }
}
