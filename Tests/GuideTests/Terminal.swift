import Foundation

@testable import guide

/// A terminal that nobody sits at, for programs that are to believe in one.
enum Terminal {
  /// The two ends of a terminal that nobody sits at.
  static func pair() -> (main: CInt, terminal: CInt)? {
    // Swift does not see this function of the C library.
    typealias OpenPair =
      @convention(c) (
        UnsafeMutablePointer<CInt>, UnsafeMutablePointer<CInt>, UnsafeMutablePointer<CChar>?,
        UnsafeRawPointer?, UnsafeRawPointer?
      ) -> CInt
    guard let address = unsafe dlsym(nil, "openpty") else { return nil }
    let openPair = unsafe unsafeBitCast(address, to: OpenPair.self)
    var main: CInt = -1
    var terminal: CInt = -1
    return unsafe openPair(&main, &terminal, nil, nil, nil) == 0 ? (main, terminal) : nil
  }

  /// Runs the guide on a terminal of a size.
  ///
  /// - Returns: what it wrote there, and what it ended with.
  static func run(
    _ arguments: [String], columns: UInt16, rows: UInt16
  ) throws -> (status: CInt, output: String)? {
    guard let (main, terminal) = pair() else { return nil }
    let reading = Descriptor(main)
    var size = winsize(ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
    _ = unsafe ioctl(main, UInt(TIOCSWINSZ), &size)
    let child = try start(arguments, Descriptor(terminal))
    var output = ""
    // A terminal that all have closed has no end but an error, which is read as nothing.
    while true {
      let piece = reading.read()
      if piece.isEmpty { break }
      output += piece
    }
    var ending: CInt = 0
    while unsafe waitpid(child, &ending, 0) < 0 && errno == EINTR {}
    return (ending & 0x7F == 0 ? ending >> 8 & 0xFF : -(ending & 0x7F), output)
  }

  /// The terminal is the child's alone when this returns.
  private static func start(_ arguments: [String], _ terminal: Descriptor) throws -> pid_t {
    try Spawn.start(
      ["/usr/bin/env", "TERM=xterm", GuideProcess.executable.path] + arguments, input: terminal,
      output: terminal, errors: terminal)
  }
}
