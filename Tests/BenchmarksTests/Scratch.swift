import Foundation

/// A folder that is gone with the test.
final class Scratch {
  let folder = FileManager.default.temporaryDirectory
    .appending(path: "benchmarks-\(UUID().uuidString)")

  init() throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  func path(_ name: String) -> String { folder.appending(path: name).path }

  func file(_ name: String, _ text: String) throws -> String {
    try Data(text.utf8).write(to: folder.appending(path: name))
    return path(name)
  }
}
