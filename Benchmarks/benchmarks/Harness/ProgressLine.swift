/// One line on standard error that tells how far the run is, when somebody watches.
// SAFETY of @unchecked: used by the one thread that measures; the console's closures are written to
// be called from any thread.
struct ProgressLine: @unchecked Sendable {
  private let console: Console
  private let workloads: Int
  private let state = State()

  private final class State {
    var heading = ""
  }

  init(console: Console, workloads: Int) {
    self.console = console
    self.workloads = workloads
  }

  func begins(_ index: Int, _ name: String) {
    state.heading = "[\(index + 1)/\(workloads)] \(name)"
    tells("")
  }

  func tells(_ step: String) {
    guard console.showsProgress else { return }
    // Return to the line's start and clear it: the line replaces the one before.
    console.complain("\r\u{1B}[K\(state.heading) \(step)")
  }

  func ends() {
    guard console.showsProgress else { return }
    console.complain("\r\u{1B}[K")
  }
}
