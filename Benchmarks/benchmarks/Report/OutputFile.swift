import BenchmarkSupport
import Foundation
import Glibc

/// A file that the command line names, to be written once there is something to write.
///
/// What was in it stays until all of the new is there: it is replaced in one step. What is no plain file,
/// such as a device or a pipe, is written as it is.
struct OutputFile: Equatable {
  /// The option that names it.
  let option: String
  let path: String
  /// Where it lies, once links have been followed; two names of one file have the same.
  let target: String
  /// Whether it is put in the place of what is there.
  private let isReplaced: Bool

  /// Looks whether it can be written, and leaves it as it is.
  ///
  /// - Throws: an error with the system's reason.
  init(_ path: String, for option: String) throws(UsageError) {
    self.option = option
    self.path = path
    target = Self.followed(path)
    var info = stat()
    let isThere = unsafe stat(target, &info) == 0
    isReplaced = !isThere || info.st_mode & S_IFMT == S_IFREG
    let reason: CInt
    if !isThere, errno != ENOENT {
      reason = errno
    } else if isThere, info.st_mode & S_IFMT == S_IFDIR {
      reason = EISDIR
    } else if isThere {
      // A pipe that nobody reads would be waited for.
      let descriptor = unsafe open(target, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
      reason = descriptor < 0 ? errno : 0
      if descriptor >= 0 { close(descriptor) }
    } else {
      reason = unsafe access(Self.folder(of: target), W_OK | X_OK) == 0 ? 0 : errno
    }
    guard reason == 0 else {
      throw UsageError(
        option: option, value: path,
        allowed: unsafe "a file that can be written (\(String(cString: strerror(reason))))")
    }
  }

  /// Writes it.
  ///
  /// - Throws: what Foundation does.
  func write(_ text: String) throws {
    // Where the folder takes no new file, the old one is written over.
    let isReplaced = unsafe isReplaced && access(Self.folder(of: target), W_OK | X_OK) == 0
    try Data(text.utf8).write(
      to: URL(fileURLWithPath: target), options: isReplaced ? .atomic : [])
  }

  private static func folder(of path: String) -> String {
    let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
    return folder.isEmpty ? "/" : folder
  }

  /// The path behind the links, also if nothing is there yet. What a link of the kernel's leads to
  /// (`/dev/stdout`) may have no path: then it is the link.
  private static func followed(_ path: String) -> String {
    var path = URL(fileURLWithPath: path).path
    for _ in 0..<40 {
      guard
        let next = try? FileManager.default.destinationOfSymbolicLink(atPath: path)
      else { return path }
      let followed = URL(
        fileURLWithPath: next, relativeTo: URL(fileURLWithPath: folder(of: path) + "/")
      ).path
      if unsafe access(followed, F_OK) != 0, unsafe access(path, F_OK) == 0 { return path }
      path = followed
    }
    return path
  }
}
