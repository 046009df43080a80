import Glibc

/// A file, written through a buffer of fixed size. It is there when ``finish()`` returns: of one that was not
/// finished, nothing is left.
final class OutputFile {
  private let path: String

  /// Where it is written: where it shall be, or beside it.
  private let workPath: String

  private let descriptor: CInt
  private var leftover: Leftover?
  private var isFinished = false
  private var buffer: [UInt8] = []

  private static let bufferSize = 65_536

  /// Makes the file.
  ///
  /// - Parameters:
  ///   - path: where.
  ///   - replaces: whether another file may be there. That one stays as it is until this one is whole.
  /// - Throws: `FileError` if the system refuses, the file is there and must not be, or what is there is no
  ///   file.
  init(path: String, replaces: Bool = false) throws(FileError) {
    self.path = path
    guard replaces else {
      workPath = path
      descriptor = try Self.open(path, for: path)
      return
    }
    try Self.refuseOtherKinds(path)
    let folder = path.lastIndex(of: "/").map { path[...$0] } ?? ""
    let workPath = "\(folder).guide-\(getpid())-\(UInt32.random(in: .min ... .max))"
    self.workPath = workPath
    var opened: CInt = -1
    leftover = try Leftover {
      unsafe unlink(workPath)
    } making: { () throws(FileError) in
      opened = try Self.open(workPath, for: path)
    }
    descriptor = opened
  }

  private static func open(_ workPath: String, for path: String) throws(FileError) -> CInt {
    let descriptor = unsafe Glibc.open(workPath, O_WRONLY | O_CREAT | O_CLOEXEC | O_EXCL, 0o644)
    guard descriptor >= 0 else { throw FileError(action: "make", path: path, code: errno) }
    return descriptor
  }

  deinit {
    close(descriptor)
    if !isFinished { unsafe unlink(workPath) }
  }

  /// Refuses a path at which something stands that is no file, such as a pipe or a folder, or a file that
  /// must not be written.
  ///
  /// - Throws: `FileError` that says what it is.
  static func refuseOtherKinds(_ path: String) throws(FileError) {
    guard let kind = FileKind.of(path) else { return }
    if kind != .file {
      throw FileError(action: "make", path: path, reason: "\(kind.rawValue) has that name")
    }
    if unsafe access(path, W_OK) != 0 { throw FileError(action: "make", path: path, code: errno) }
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

  /// Says that this was all.
  ///
  /// - Throws: `FileError` if the system refuses.
  func finish() throws(FileError) {
    try flush()
    if workPath != path, unsafe rename(workPath, path) != 0 {
      throw FileError(action: "make", path: path, code: errno)
    }
    isFinished = true
    leftover?.keep()
  }

  /// Hands everything to the system.
  private func flush() throws(FileError) {
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
