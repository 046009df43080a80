import BenchmarkSupport
import Glibc

/// The executable: everything but the exit is in ``Program``, so that tests can run it.
@main
struct Main {
  static func main() {
    let arguments = Array(CommandLine.arguments.dropFirst())
    let program = Program(console: .standard, nativeFolder: "Benchmarks/native/build")
    let status = program.run(arguments)
    // A signal may have left threads in the middle of a slice: nothing of the process is taken down
    // under them. All output has been written by then.
    if status.isEarly { _exit(status.rawValue) }
    exit(status.rawValue)
  }
}
