internal import CThreadingPlatform
internal import Glibc

/// Changes of files and folders, as a descriptor that a ``Poller`` can watch: the only code of the
/// package that calls `inotify(7)`.
package final class FileWatch: Sendable {
  /// What is watched for and what happened.
  package struct Changes: OptionSet, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) { self.rawValue = rawValue }

    package static let created = Changes(rawValue: UInt32(IN_CREATE))
    package static let modified = Changes(rawValue: UInt32(IN_MODIFY))
    package static let attributes = Changes(rawValue: UInt32(IN_ATTRIB))
    package static let written = Changes(rawValue: UInt32(IN_CLOSE_WRITE))
    package static let deleted = Changes(rawValue: UInt32(IN_DELETE))
    package static let deletedItself = Changes(rawValue: UInt32(IN_DELETE_SELF))
    package static let movedAway = Changes(rawValue: UInt32(IN_MOVED_FROM))
    package static let movedHere = Changes(rawValue: UInt32(IN_MOVED_TO))
    package static let movedItself = Changes(rawValue: UInt32(IN_MOVE_SELF))
    /// The watch has ended. Always reported.
    package static let ended = Changes(rawValue: UInt32(IN_IGNORED))
    /// What is watched lay on a file system that was taken away. Always reported.
    package static let unmounted = Changes(rawValue: UInt32(IN_UNMOUNT))
    /// More happened than the system keeps: some of it is lost. Always reported.
    package static let overflow = Changes(rawValue: UInt32(IN_Q_OVERFLOW))
    /// What it happened to is a folder.
    package static let isFolder = Changes(rawValue: UInt32(IN_ISDIR))
  }

  /// Something that happened.
  package struct Record: Sendable {
    /// The number of the watch; -1 for ``Changes/overflow``.
    package let watch: CInt
    package let changes: Changes
    /// The same for the two sides of a move.
    package let cookie: UInt32
    /// The entry of the watched folder that it happened to; nil for what is watched itself.
    package let name: String?
  }

  /// Becomes readable when something happened.
  package let descriptor: CInt

  /// Watches nothing yet. Takes a descriptor.
  ///
  /// - Throws: EMFILE or ENFILE when descriptors, or the user's watchers, have run out.
  package init() throws(ThreadingError) {
    descriptor = ctp_inotify()
    guard descriptor >= 0 else {
      if descriptor == -EMFILE {
        throw ThreadingError(
          call: "inotify_init1", code: EMFILE,
          message:
            "the process is at its limit of open descriptors (RLIMIT_NOFILE), or the user at that of "
            + "watchers (fs.inotify.max_user_instances)")
      }
      throw .descriptorRefused("inotify_init1", -descriptor)
    }
  }

  deinit { close(descriptor) }

  /// Starts to watch a path, or watches it for something else from now on.
  ///
  /// - Returns: The number of the watch: the same for all paths that lead to one file.
  /// - Throws: ENOENT, EACCES, ENOTDIR and their kin for the path; ENOSPC when the user has too many
  ///   watches.
  package func add(_ path: String, for changes: Changes) throws(ThreadingError) -> CInt {
    let watch = unsafe ctp_inotify_add(descriptor, path, changes.rawValue)
    guard watch >= 0 else {
      let reason =
        watch == -ENOSPC
        ? "the user is at the limit of watches (fs.inotify.max_user_watches)"
        : unsafe String(cString: strerror(-watch))
      throw ThreadingError(
        call: "inotify_add_watch", code: -watch, message: "\"\(path)\" cannot be watched: \(reason)"
      )
    }
    return watch
  }

  /// Stops watching. What happened before may still be reported, and ``Changes/ended`` is.
  ///
  /// - Returns: false when the watch has ended by itself, or was removed before.
  @discardableResult
  package func remove(_ watch: CInt) -> Bool { ctp_inotify_remove(descriptor, watch) == 0 }

  /// Takes what happened, up to some hundred records.
  package func takeRecords() -> [Record] {
    // Room for one record at least: a header and a name of 255 bytes and its end.
    unsafe withUnsafeTemporaryAllocation(byteCount: 16_384, alignment: 8) { buffer in
      var count: Int
      repeat {
        count = unsafe read(descriptor, buffer.baseAddress, buffer.count)
      } while count < 0 && errno == EINTR
      // EAGAIN: nothing. The descriptor is ours, so nothing else can go wrong.
      return unsafe count > 0 ? Self.records(UnsafeRawBufferPointer(buffer), count) : []
    }
  }

  private static func records(_ bytes: UnsafeRawBufferPointer, _ count: Int) -> [Record] {
    var records: [Record] = []
    var position = 0
    let header = MemoryLayout<inotify_event>.size
    while position + header <= count {
      let event = unsafe bytes.loadUnaligned(fromByteOffset: position, as: inotify_event.self)
      let length = Int(event.len)
      // Padded with zeros at the end.
      let name = unsafe bytes[position + header..<position + header + length].prefix { $0 != 0 }
      records.append(
        Record(
          watch: event.wd, changes: Changes(rawValue: event.mask), cookie: event.cookie,
          name: unsafe length == 0 ? nil : String(decoding: name, as: UTF8.self)))
      position += header + length
    }
    return records
  }
}
