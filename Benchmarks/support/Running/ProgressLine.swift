import ThreadingLocks
import ThreadingPlatform

/// One line on standard error that tells how far the run is, when somebody watches.
// SAFETY of @unchecked: the console's closures are written to be called from any thread; the rest
// is guarded by the lock.
package final class ProgressLine: @unchecked Sendable {
  private let console: Console
  private let steps: Int
  private let state = Locked(State())
  private let start = MonotonicInstant.now

  private struct State {
    /// Steps begun.
    var begun = 0
    var heading = ""
    var isOver = false
  }

  /// The most characters of the line; a terminal that is narrower is rare, and only untidy.
  package static let width = 79
  private static let barWidth = 20

  /// A line for so many steps.
  package init(console: Console, steps: Int) {
    self.console = console
    self.steps = steps
  }

  /// The next step begins.
  package func begins(_ name: String) {
    state.withLock {
      $0.begun += 1
      $0.heading = name
    }
    tells("", share: 0)
  }

  /// How far the step is, from 0 to 1, and what is being done.
  package func tells(_ doing: String, share: Double) {
    guard console.showsProgress else { return }
    state.withLock { state in
      guard !state.isOver else { return }
      let done = min(1, (Double(max(0, state.begun - 1)) + share) / Double(max(1, steps)))
      let seconds = Double(start.duration(to: .now).components.seconds)
      let line = Self.line(
        step: state.begun, of: steps, done: done, elapsed: seconds,
        text: "\(state.heading) \(doing)")
      // Return to the line's start and clear it: the line replaces the one before.
      console.complain("\r\u{1B}[K" + line)
    }
  }

  /// Clears the line; nothing is shown any more.
  package func ends() {
    guard console.showsProgress else { return }
    state.withLock { state in
      state.isOver = true
      console.complain("\r\u{1B}[K")
    }
  }

  /// The line of a moment: `[3/43] ██████░░░░  31% 2 min left lock/value sample 2 of 15`.
  package static func line(
    step: Int, of steps: Int, done: Double, elapsed: Double, text: String
  ) -> String {
    let filled = Int((done * Double(barWidth)).rounded(.down))
    let bar =
      String(repeating: "█", count: filled) + String(repeating: "░", count: barWidth - filled)
    let percent = Int(done * 100)
    // Early on the share done says nothing about the rest.
    let left = done > 0.02 ? " \(remaining(elapsed * (1 - done) / done)) left" : ""
    return String("[\(step)/\(steps)] \(bar) \(percent)%\(left) \(text)".prefix(width))
  }

  private static func remaining(_ seconds: Double) -> String {
    seconds < 90 ? "\(Int(seconds.rounded(.up))) s" : "\(Int((seconds / 60).rounded(.up))) min"
  }
}
