import Glibc

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

  /// The columns of a terminal that does not tell.
  static let usualColumns = 80

  /// The console of the process.
  static var standard: Console {
    Console(
      isTerminal: isatty(STDOUT_FILENO) == 1
        && canDrawOver(terminal: unsafe getenv("TERM").map { unsafe String(cString: $0) }),
      print: { write($0, to: STDOUT_FILENO) }, printError: { write($0, to: STDERR_FILENO) },
      columns: { columns(of: STDOUT_FILENO) }, isReady: { isReady(STDOUT_FILENO) })
  }

  /// Whether a terminal of this kind, as the variable `TERM` tells it, can draw over a line.
  static func canDrawOver(terminal: String?) -> Bool {
    guard let terminal else { return false }
    return !terminal.isEmpty && terminal != "dumb"
  }

  /// Prints one line of a failure.
  func fail(_ reason: some CustomStringConvertible) {
    printError("guide: \(reason)\n")
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
  static func isReady(_ descriptor: CInt) -> Bool {
    var question = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    return unsafe poll(&question, 1, 0) == 1 && question.revents & Int16(POLLOUT) != 0
  }

  /// Writes at once, past any buffer: what is printed before a crash is seen.
  private static func write(_ text: String, to descriptor: CInt) {
    let bytes = Array(text.utf8)
    var start = 0
    while start < bytes.count {
      let count = unsafe bytes.withUnsafeBytes { bytes in
        unsafe Glibc.write(descriptor, bytes.baseAddress! + start, bytes.count - start)
      }
      if count >= 0 {
        start += count
      } else if errno != EINTR {
        return
      }
    }
  }
}
