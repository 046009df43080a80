import Foundation

/// The folder `Guide` of the package that the program was built from: there the texts are.
enum GuideFolder {
  static let path = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().path

  /// The text of a file in the folder.
  ///
  /// - Throws: `FileError` if it cannot be read.
  static func text(_ name: String) throws(FileError) -> String {
    let file = "\(path)/\(name)"
    do {
      return try InputFile.text(of: file)
    } catch {
      throw FileError(
        action: "read", path: file,
        reason: "\(error.reason); the texts are read from the package that the guide was built in")
    }
  }

  /// The Swift files below a chapter's folder, in the order of their names.
  static func sources(of chapter: any Chapter.Type) -> [String] {
    let names = FileManager.default.enumerator(atPath: "\(path)/\(chapter.folder)")?
      .compactMap { $0 as? String }
    return (names ?? []).filter { $0.hasSuffix(".swift") }.sorted()
      .map { "\(chapter.folder)/\($0)" }
  }
}
