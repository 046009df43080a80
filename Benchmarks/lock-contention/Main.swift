import BenchmarkSupport
import Glibc

/// The executable: everything but the exit is in ``Program``, so that tests can run it.
@main
struct Main {
  static func main() {
    let arguments = Array(CommandLine.arguments.dropFirst())
    exit(Program(console: .standard).run(arguments).rawValue)
  }
}
