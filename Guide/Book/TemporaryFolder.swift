import Foundation
import Threading

/// Folders for what is needed while a chapter runs, and for what it makes for its reader.
enum TemporaryFolder {
  /// Where they are made: the folder that `TMPDIR` names, or `/tmp`.
  static var root: String {
    let named = unsafe getenv("TMPDIR").map { unsafe String(cString: $0) } ?? ""
    return named.isEmpty ? "/tmp" : named
  }

  /// Calls `body` with a new folder, which is gone afterwards, also when a signal ends the program.
  ///
  /// - Throws: `FileError` if there can be no folder; what `body` throws.
  static func with<Value>(_ body: (String) throws -> Value) throws -> Value {
    let path = newPath()
    let leftover = try Leftover {
      remove(path)
    } making: { () throws(FileError) in
      try make(path)
    }
    defer { leftover.remove() }
    return try body(path)
  }

  /// The place of a file that the chapter makes for its reader to look at: in a folder of the user's own,
  /// where each run puts it.
  ///
  /// - Throws: `FileError` if there can be no such folder.
  static func kept(_ name: String) throws(FileError) -> String {
    let own = "\(root)/threading-guide-\(geteuid())"
    if isOwn(own) { return "\(own)/\(name)" }
    guard unsafe mkdir(own, 0o700) != 0 else { return "\(own)/\(name)" }
    guard errno == EEXIST else { throw refusal(errno) }
    // In a folder for all, somebody else may have been there first. Two runs may have met as well.
    if isOwn(own) { return "\(own)/\(name)" }
    let path = newPath()
    try make(path)
    return "\(path)/\(name)"
  }

  private static func newPath() -> String {
    let number = String(UInt64.random(in: .min ... .max), radix: 36)
    return "\(root)/threading-guide-\(geteuid())-\(number)"
  }

  private static func make(_ path: String) throws(FileError) {
    guard unsafe mkdir(path, 0o700) == 0 else { throw refusal(errno) }
  }

  private static func refusal(_ code: CInt) -> FileError {
    let origin = root == "/tmp" ? "" : ", which TMPDIR names"
    return FileError(action: "make a folder in", path: root + origin, code: code)
  }

  /// Whether this is a folder of the user's, into which nobody else can put anything.
  private static func isOwn(_ path: String) -> Bool {
    var status = stat()
    guard unsafe lstat(path, &status) == 0 else { return false }
    return status.st_mode & S_IFMT == S_IFDIR && status.st_uid == geteuid()
      && status.st_mode & 0o022 == 0
  }

  /// Removes a folder with all that is in it, also while others still put something there.
  static func remove(_ path: String) {
    for _ in 0..<10 {
      try? FileManager.default.removeItem(atPath: path)
      if unsafe access(path, F_OK) != 0 { return }
    }
  }
}
