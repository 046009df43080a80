import Foundation
import Threading

/// How a process that a chapter started has ended, and what it printed.
struct ChildProcess {
  /// What it returned, if it ended by itself.
  let status: Int32?

  /// The signal that ended it, if one did.
  let signal: Int32?
  let output: String
  let errors: String

  /// Runs a part of a chapter in a process of its own, and waits for its end.
  ///
  /// - Parameters:
  ///   - part: its name.
  ///   - chapter: whose part it is.
  ///   - input: the file that is its standard input; none if nil.
  /// - Returns: how it ended.
  /// - Throws: what the system says if it starts no process.
  static func run(
    _ part: String, of chapter: any Chapter.Type, input: String? = nil
  ) throws -> ChildProcess {
    try run("/proc/self/exe", ["run", String(chapter.number), "--part", part], input: input)
  }

  /// Runs a program, and waits for its end.
  ///
  /// - Throws: what the system says if it starts no process.
  static func run(
    _ program: String, _ arguments: [String], input: String? = nil
  ) throws -> ChildProcess {
    let process = Process()
    let output = Pipe()
    let errors = Pipe()
    process.executableURL = URL(filePath: program).resolvingSymlinksInPath()
    process.arguments = arguments
    process.standardInput =
      try input.map { try FileHandle(forReadingFrom: URL(filePath: $0)) } ?? FileHandle.nullDevice
    process.standardOutput = output
    process.standardError = errors
    // A crash is what is wanted here; its stack trace would only take time.
    process.environment = ProcessInfo.processInfo.environment.merging(
      ["SWIFT_BACKTRACE": "enable=no"]) { $1 }
    try process.run()
    // Both at the same time: a process that fills one pipe while the other is read would wait for us.
    let errorEnd = errors.fileHandleForReading
    let reader = try PosixThread.start { try errorEnd.readToEnd() ?? Data() }
    let printed = try output.fileHandleForReading.readToEnd() ?? Data()
    let complaints = try reader.join()
    process.waitUntilExit()
    let isSignal = process.terminationReason == .uncaughtSignal
    return ChildProcess(
      status: isSignal ? nil : process.terminationStatus,
      signal: isSignal ? process.terminationStatus : nil,
      output: String(decoding: printed, as: UTF8.self),
      errors: String(decoding: complaints, as: UTF8.self))
  }
}
