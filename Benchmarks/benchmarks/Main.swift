import Glibc
import ThreadingPlatform

/// The executable: everything but the exit is in ``Program``, so that tests can run it.
@main
struct Main {
  static func main() {
    let arguments = Array(CommandLine.arguments.dropFirst())
    let program = Program(
      catalogue: Catalogue.workloads(threads:), console: .standard,
      nativeFolder: "Benchmarks/native/build")
    let status = program.run(arguments)
    // A signal may have left the measuring thread in the middle of a batch: nothing of the process is
    // taken down under it. All output has been written by then.
    if status.isEarly { _exit(status.rawValue) }
    exit(status.rawValue)
  }
}
