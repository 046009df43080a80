import Glibc
import Threading

/// Where the chapter prints.
struct Console {
  /// Whether the output is a terminal on which a line can be drawn over.
  let isTerminal: Bool

  /// Prints to standard output, as it is: without a line end of its own.
  let print: (String) -> Void

  /// Prints to standard error.
  let printError: (String) -> Void

  /// How many columns a line of the terminal has now. People resize it.
  var columns: () -> Int = { Self.usualColumns }

  /// Whether standard output would take some text at once. A terminal that is stopped, or slow, would
  /// make a thread that prints wait.
  var isReady: () -> Bool = { true }

  /// What standard output could not take; nil if it took all.
  var problem: () -> OutputProblem? = { nil }

  /// The first thing that standard output could not take.
  private final class FirstProblem: Sendable {
    private let first = Locked<OutputProblem?>(nil)

    func note(_ problem: OutputProblem) { first.withLock { $0 = $0 ?? problem } }

    var problem: OutputProblem? { first.withLock { $0 } }
  }

  /// The columns of a terminal that does not tell.
  static let usualColumns = 80

  /// The console of the process.
  static var standard: Console {
    let first = FirstProblem()
    return Console(
      isTerminal: isatty(STDOUT_FILENO) == 1
        && canDrawOver(terminal: unsafe getenv("TERM").map { unsafe String(cString: $0) }),
      print: { if let problem = write($0, to: STDOUT_FILENO) { first.note(problem) } },
      printError: { _ = write($0, to: STDERR_FILENO) },
      columns: { columns(of: STDOUT_FILENO) }, isReady: { isReady(STDOUT_FILENO) },
      problem: { first.problem })
  }

  /// Whether a terminal of this kind, as the variable `TERM` tells it, can draw over a line.
  static func canDrawOver(terminal: String?) -> Bool {
    guard let terminal else { return false }
    return !terminal.isEmpty && terminal != "dumb"
  }

  /// Prints one line to standard output; what could move the cursor of a terminal is written out.
  func say(_ line: String) { print(Printable.line(line) + "\n") }

  /// Prints one line to standard error, in the same way.
  func complain(_ line: String) { printError(Printable.line(line) + "\n") }

  /// Prints one line of a failure.
  func fail(_ reason: some CustomStringConvertible) { complain("guide: \(reason)") }

  /// What the process shall end with, when all else has gone well or not: a success that nobody could
  /// read is none. Says why, unless the reader has gone.
  func ending(_ status: ExitStatus) -> ExitStatus {
    guard let problem = problem() else { return status }
    if !problem.isReaderGone { fail("cannot write to standard output: \(problem.reason)") }
    return status == .done ? .fileError : status
  }

  /// How many columns the terminal behind a descriptor has.
  static func columns(of descriptor: CInt) -> Int {
    var size = winsize()
    guard unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else {
      return usualColumns
    }
    return Int(size.ws_col)
  }

  /// Whether a descriptor takes bytes now.
  static func isReady(_ descriptor: CInt) -> Bool { isReady(descriptor, within: 0) }

  private static func isReady(_ descriptor: CInt, within milliseconds: CInt) -> Bool {
    var question = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    return unsafe poll(&question, 1, milliseconds) == 1
      && question.revents & Int16(POLLOUT) != 0
  }

  /// Writes at once, past any buffer: what is printed before a crash is seen.
  ///
  /// - Returns: why the rest could not be written.
  static func write(_ text: String, to descriptor: CInt) -> OutputProblem? {
    let bytes = Array(text.utf8)
    var start = 0
    while start < bytes.count {
      let count = unsafe bytes.withUnsafeBytes { bytes in
        unsafe Glibc.write(descriptor, bytes.baseAddress! + start, bytes.count - start)
      }
      let code = count < 0 ? errno : 0
      switch code {
      case 0: start += count
      case EINTR: continue
      // Somebody else has set it so that it never waits. We do.
      case EAGAIN: _ = isReady(descriptor, within: -1)
      default:
        return OutputProblem(
          reason: unsafe String(cString: strerror(code)), isReaderGone: code == EPIPE)
      }
    }
    return nil
  }
}
