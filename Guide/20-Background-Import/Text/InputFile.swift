import Glibc

/// A regular file, open for reading in pieces.
///
/// Each piece goes straight from the kernel into the reader's window: no buffer is made per piece,
/// so the memory of a read does not depend on the size of the file.
final class InputFile: ByteSource {
  let path: String

  /// The size when it was opened, in bytes.
  let size: Int

  private let descriptor: CInt

  /// How many bytes were read.
  private var position = 0

  /// Opens the file.
  ///
  /// - Throws: `FileError` if it cannot be opened or is not a regular file (a pipe has no size, so
  ///   there would be no progress to show).
  init(path: String) throws(FileError) {
    // Without O_NONBLOCK, opening a pipe that nobody writes to would wait for ever.
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw FileError(action: "open", path: path, code: errno) }
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else {
      let code = errno
      close(descriptor)
      throw FileError(action: "examine", path: path, code: code)
    }
    let kind = FileKind(mode: status.st_mode)
    guard kind == .file else {
      close(descriptor)
      throw FileError(action: "read", path: path, reason: "it is \(kind.rawValue)")
    }
    self.path = path
    self.descriptor = descriptor
    size = Int(status.st_size)
  }

  deinit {
    close(descriptor)
  }

  func read(into window: inout [UInt8], from start: Int, to end: Int) throws(FileError) -> Int {
    precondition(0 <= start && start < end && end <= window.count, "InputFile.read: bad range")
    while true {
      let count = unsafe window.withUnsafeMutableBytes { bytes in
        unsafe Glibc.read(descriptor, bytes.baseAddress! + start, end - start)
      }
      if count == 0 && position < size {
        throw FileError(
          action: "read", path: path,
          reason: "it was cut to \(position) of its \(size) bytes while it was read")
      }
      if count >= 0 {
        position += count
        return count
      }
      // A signal came while the thread was in the kernel: the read is simply made again.
      if errno != EINTR { throw FileError(action: "read", path: path, code: errno) }
    }
  }
}

extension InputFile {
  /// All bytes of a file.
  ///
  /// - Throws: `FileError` if it cannot be read, or has more bytes than `limit`.
  static func bytes(of path: String, limit: Int = .max) throws(FileError) -> [UInt8] {
    let file = try InputFile(path: path)
    guard file.size <= limit else {
      throw FileError(
        action: "read", path: path,
        reason: "it has \(Figures.grouped(file.size)) bytes, more than \(Figures.grouped(limit))")
    }
    var bytes: [UInt8] = []
    while true {
      let start = bytes.count
      bytes += [UInt8](repeating: 0, count: pieceSize)
      let count = try file.read(into: &bytes, from: start, to: bytes.count)
      bytes.removeLast(pieceSize - count)
      if count == 0 { return bytes }
    }
  }

  private static let pieceSize = 65_536

  /// The text of a file.
  ///
  /// - Throws: `FileError` if it cannot be read.
  static func text(of path: String) throws(FileError) -> String {
    String(decoding: try bytes(of: path), as: UTF8.self)
  }
}
