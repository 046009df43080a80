import Glibc

/// The folder of a feed: which files there are and how large they are.
struct FeedFolder {
  let path: String

  /// The tables whose files are there, in the order of import, with the files' sizes in bytes.
  private(set) var files: [(table: FeedTable, size: Int)] = []

  /// Files of the feed that the database has no table for.
  private(set) var unknownFiles: [String] = []

  /// Looks into the folder.
  ///
  /// - Throws: `ImportFailure.file` if it cannot be read, `ImportFailure.noFeed` if required files
  ///   are not there.
  init(path: String) throws(ImportFailure) {
    self.path = path
    let names = try Self.names(in: path)
    var missing: [FileProblem] = []
    for table in FeedTable.all {
      if names.contains(table.fileName) {
        files.append((table, try Self.size(of: "\(path)/\(table.fileName)")))
      } else if table.isRequired {
        let problem = Problem(
          kind: .missingFile, position: TextPosition(line: 1, column: 1),
          reason: "\(path) has no such file, and a feed must")
        missing.append(FileProblem(file: table.fileName, problem: problem))
      }
    }
    if !missing.isEmpty { throw .noFeed(missing) }
    let known = FeedTable.all.map(\.fileName)
    unknownFiles = names.filter { $0.hasSuffix(".txt") && !known.contains($0) }.sorted()
  }

  /// All files together, in bytes.
  var size: Int { files.reduce(0) { $0 + $1.size } }

  /// Opens the file of a table.
  ///
  /// - Throws: `FileError` if the system refuses.
  func open(_ table: FeedTable) throws(FileError) -> InputFile {
    try InputFile(path: "\(path)/\(table.fileName)")
  }

  private static func size(of path: String) throws(ImportFailure) -> Int {
    do {
      return try InputFile(path: path).size
    } catch {
      throw .file(error)
    }
  }

  private static func names(in path: String) throws(ImportFailure) -> [String] {
    guard let folder = unsafe opendir(path) else {
      throw .file(FileError(action: "read the folder", path: path, code: errno))
    }
    defer { unsafe closedir(folder) }
    var names: [String] = []
    while let entry = unsafe readdir(folder) {
      // A directory's entry ends with its name, which a zero byte ends.
      let offset = MemoryLayout<dirent>.offset(of: \.d_name)!
      let name = unsafe UnsafeRawPointer(entry).advanced(by: offset)
      names.append(unsafe String(cString: name.assumingMemoryBound(to: CChar.self)))
    }
    return names
  }
}
