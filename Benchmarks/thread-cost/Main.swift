import BenchmarkSupport
import Glibc

/// The executable: everything but the exit is in ``CostProgram``, so that tests can run it.
@main
struct Main {
  static func main() {
    let arguments = Array(CommandLine.arguments.dropFirst())
    exit(CostProgram(console: .standard).run(arguments).rawValue)
  }
}
