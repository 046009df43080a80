import Foundation
import Testing

/// The guide's program as a process of its own, as a user runs it.
final class GuideProcess {
  private let process = Process()
  private let output = Pipe()
  private let errors = Pipe()
  private var collected = ""

  /// Where the build puts the program: beside the program of the tests.
  static var executable: URL {
    URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
      .appending(path: "guide")
  }

  /// Starts the program, or another one, in `folder`.
  init(
    _ arguments: [String], in folder: Folder, program: URL = executable, hasReader: Bool = true
  ) throws {
    process.executableURL = program
    process.arguments = arguments
    process.currentDirectoryURL = URL(filePath: folder.path)
    process.standardOutput = output
    process.standardError = errors
    // A process that nobody listens to, from the beginning.
    if !hasReader { try output.fileHandleForReading.close() }
    try process.run()
  }

  /// Runs a line of the shell, in which `guide` is the program.
  static func shell(
    _ line: String, in folder: Folder
  ) throws -> (status: Int32, output: String, errors: String) {
    try GuideProcess(
      ["-c", "guide() { \"$0\" \"$@\"; }; \(line)", executable.path], in: folder,
      program: URL(filePath: "/bin/sh")
    ).end()
  }

  func signal(_ number: CInt) {
    kill(process.processIdentifier, number)
  }

  /// Reads standard output until a line begins with `prefix`.
  ///
  /// - Returns: whether there was one.
  func read(until prefix: String) -> Bool {
    var line = ""
    while let byte = try? output.fileHandleForReading.read(upToCount: 1), !byte.isEmpty {
      let text = String(decoding: byte, as: UTF8.self)
      collected += text
      if text != "\n" {
        line += text
      } else if line.hasPrefix(prefix) {
        return true
      } else {
        line = ""
      }
    }
    return false
  }

  /// Waits for the end that a signal makes.
  ///
  /// - Returns: the signal's number; nil if there was another end.
  func endBySignal() throws -> Int32? {
    _ = try output.fileHandleForReading.readToEnd()
    process.waitUntilExit()
    return process.terminationReason == .uncaughtSignal ? process.terminationStatus : nil
  }

  /// Waits for the end.
  func end() throws -> (status: Int32, output: String, errors: String) {
    let rest = (try? output.fileHandleForReading.readToEnd()) ?? Data()
    let complaints = try errors.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    #expect(process.terminationReason == .exit)
    return (
      process.terminationStatus, collected + String(decoding: rest, as: UTF8.self),
      String(decoding: complaints, as: UTF8.self)
    )
  }
}
