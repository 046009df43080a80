/// The small text files in which Linux tells of a process.
enum SystemFile {
  /// The words of a file, without the blanks and line ends between them; nil if it cannot be read.
  static func words(of path: String) -> [Substring]? {
    var bytes = [UInt8](repeating: 0, count: 8_192)
    guard let file = try? InputFile(path: path),
      let count = try? file.read(into: &bytes, from: 0, to: bytes.count)
    else { return nil }
    return String(decoding: bytes.prefix(count), as: UTF8.self).split { " \t\n".contains($0) }
  }
}
