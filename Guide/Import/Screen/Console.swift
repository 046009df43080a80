import Glibc

/// Where the chapter prints.
struct Console {
  /// Whether the output is a terminal, on which a line can be drawn over.
  let isTerminal: Bool

  /// Prints to standard output, as it is: without a line end of its own.
  let print: (String) -> Void

  /// Prints to standard error.
  let printError: (String) -> Void

  /// The console of the process.
  static var standard: Console {
    Console(
      isTerminal: isatty(STDOUT_FILENO) == 1, print: { write($0, to: STDOUT_FILENO) },
      printError: { write($0, to: STDERR_FILENO) })
  }

  /// Prints one line of a failure.
  func fail(_ reason: some CustomStringConvertible) {
    printError("guide: \(reason)\n")
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
