import Foundation
import ThreadingPlatform

/// The executable: everything but the exit is in ``Program``, so that tests can run it.
@main
struct Main {
  static func main() {
    let program = Program(
      print: { FileHandle.standardOutput.write(Data($0.utf8)) },
      complain: { FileHandle.standardError.write(Data($0.utf8)) })
    exit(program.run(Array(CommandLine.arguments.dropFirst())).rawValue)
  }
}
