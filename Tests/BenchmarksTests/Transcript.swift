import BenchmarkSupport
import ThreadingLocks

@testable import benchmarks

/// Runs the program and keeps what it wrote.
final class Transcript: Sendable {
  private let output = Locked("")
  private let errors = Locked("")

  func run(
    _ catalogue: [Workload], _ arguments: [String], showsProgress: Bool = false
  ) -> Program.ExitStatus {
    let console = Console(
      print: { text in self.output.withLock { $0 += text } },
      complain: { text in self.errors.withLock { $0 += text } },
      showsProgress: showsProgress)
    return Program(catalogue: catalogue, console: console).run(arguments)
  }

  func print(_ text: String) { output.withLock { $0 += text } }
  func complain(_ text: String) { errors.withLock { $0 += text } }

  var printed: String { output.withLock { $0 } }
  var complained: String { errors.withLock { $0 } }
}
