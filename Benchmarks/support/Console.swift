import Glibc

/// Where the program writes.
package struct Console {
  /// Writes to standard output.
  package var print: (String) -> Void
  /// Writes to standard error.
  package var complain: (String) -> Void
  /// Whether somebody watches standard error, so that progress is worth showing.
  package var showsProgress: Bool

  package init(
    print: @escaping (String) -> Void, complain: @escaping (String) -> Void, showsProgress: Bool
  ) {
    self.print = print
    self.complain = complain
    self.showsProgress = showsProgress
  }

  /// The process's own streams.
  package static var standard: Console {
    Console(
      print: { write($0, to: STDOUT_FILENO) },
      complain: { write($0, to: STDERR_FILENO) },
      showsProgress: isatty(STDERR_FILENO) == 1)
  }

  /// Writes the whole text, in as many pieces as the system takes it. What cannot be written (a
  /// reader that has gone) is dropped: there is nobody left to tell.
  private static func write(_ text: String, to descriptor: CInt) {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let written = unsafe bytes.withUnsafeBytes {
        unsafe Glibc.write(descriptor, $0.baseAddress, $0.count)
      }
      if written < 0 {
        if errno == EINTR { continue }
        return
      }
      bytes = bytes.dropFirst(written)
    }
  }
}
