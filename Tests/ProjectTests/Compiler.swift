import Foundation

/// The Swift compiler, asked about a few lines that import `ThreadingLocks`.
enum Compiler {
  struct Output {
    /// All that the compiler wrote.
    let text: String
    let errors: [(line: Int, message: String)]
  }

  /// Compiles `source` as far as all errors are found; nothing is written.
  static func check(_ source: String) throws -> Output {
    let folder = FileManager.default.temporaryDirectory
      .appending(path: "swift-threading-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appending(path: "Snippet.swift")
    // The import stands on the last line, so that the lines of the snippet count from 1.
    try (source + "\nimport ThreadingLocks\n").write(to: file, atomically: true, encoding: .utf8)

    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = [
      "swiftc", "-emit-sil", "-o", "/dev/null", "-swift-version", "6", "-parse-as-library",
      "-module-name", "Snippet", "-module-cache-path",
      buildFolder.appending(path: "ModuleCache").path(),
      "-I", buildFolder.appending(path: "Modules").path(),
      "-Xcc", "-fmodule-map-file=\(cModuleMap.path())",
      "-Xcc", "-I\(Repository.root.appending(path: "Sources/CThreadingPlatform/include").path())",
      file.path(),
    ]
    let pipe = Pipe()
    process.standardError = pipe
    process.standardOutput = pipe
    try process.run()
    let data = try pipe.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    let text = String(decoding: data, as: UTF8.self)
    let pattern = /Snippet\.swift:(\d+):\d+: error: (.*)/
    let errors = text.matches(of: pattern).map {
      (line: Int($0.1) ?? 0, message: String($0.2))
    }
    // An error elsewhere (no module, say) would pass for the one that is looked for.
    let hasOthers = text.split(separator: "\n").contains {
      $0.hasPrefix("<unknown>:0: error:") || $0.hasPrefix("error:")
    }
    guard !hasOthers, process.terminationStatus == 0 || !errors.isEmpty else {
      throw Failure(text: text)
    }
    return Output(text: text, errors: errors)
  }

  /// The compiler could not be asked.
  struct Failure: Error {
    let text: String
  }

  /// Where the modules are that this program is made of: beside it.
  private static var buildFolder: URL {
    URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath().deletingLastPathComponent()
  }

  private static var cModuleMap: URL {
    buildFolder.appending(path: "CThreadingPlatform.build/module.modulemap")
  }
}
