import Glibc

/// What stands behind a name in a folder.
enum FileKind: String {
  case file = "a file"
  case folder = "a folder"
  case link = "a link"
  case pipe = "a pipe"
  case socket = "a socket"
  case device = "a device"

  /// The kind that the system tells in a file's mode.
  init(mode: mode_t) {
    switch mode & S_IFMT {
    case S_IFDIR: self = .folder
    case S_IFLNK: self = .link
    case S_IFIFO: self = .pipe
    case S_IFSOCK: self = .socket
    case S_IFCHR, S_IFBLK: self = .device
    default: self = .file
    }
  }

  /// What is there, without following a link; nil if nothing is, or it cannot be told.
  static func of(_ path: String) -> FileKind? {
    var status = stat()
    return unsafe lstat(path, &status) == 0 ? FileKind(mode: status.st_mode) : nil
  }
}
