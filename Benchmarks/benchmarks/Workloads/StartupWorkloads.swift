import Foundation
import Glibc
import Threading

/// Processes that import something and end.
enum StartupWorkloads {
  /// The programs lie beside this one; a copy of this one alone does without.
  static let all: [Workload] = {
    let names = ["threading", "foundation", "dispatch", "bare"]
    let programs = names.compactMap { name in
      program("startup-" + name).map { (name: name, path: $0) }
    }
    guard programs.count == names.count else { return [] }
    return [
      Workload(
        "process/startup", item: "start a process that imports it and ends; wait for its end",
        threads: 1,
        programs.map { program in
          Implementation(program.name == "threading" ? Implementation.oursName : program.name) {
            items in
            let stopwatch = Stopwatch()
            for _ in 0..<items { try runOnce(program.path) }
            return stopwatch.nanoseconds
          }
        })
    ]
  }()

  private static func program(_ name: String) -> String? {
    guard let own = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    else { return nil }
    let path = URL(fileURLWithPath: own).deletingLastPathComponent().appending(path: name).path
    return FileManager.default.isExecutableFile(atPath: path) ? path : nil
  }

  private static func runOnce(_ path: String) throws {
    var process = pid_t()
    let argument = unsafe strdup(path)
    defer { unsafe free(argument) }
    var arguments: [UnsafeMutablePointer<CChar>?] = unsafe [argument, nil]
    var environment: [UnsafeMutablePointer<CChar>?] = unsafe [nil]
    let code = unsafe posix_spawn(&process, path, nil, nil, &arguments, &environment)
    guard code == 0 else { throw WrongResult("posix_spawn: errno \(code)") }
    var status: CInt = -1
    while unsafe waitpid(process, &status, 0) < 0 {
      guard errno == EINTR else { throw WrongResult("waitpid: errno \(errno)") }
    }
    try WrongResult.unless("the status of the process", status, is: 0)
  }
}
