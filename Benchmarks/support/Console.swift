import Glibc
import Threading

/// Where the program writes.
package struct Console {
  /// Writes to standard output.
  package var print: (String) -> Void
  /// Writes to standard error.
  package var complain: (String) -> Void
  /// Whether somebody watches standard error, so that progress is worth showing.
  package var showsProgress: Bool
  /// Why something could not be written to standard output; nil if all could.
  package var problem: () -> Problem?

  /// What a stream cannot take.
  package struct Problem: Equatable, Sendable {
    /// The system's reason.
    package let reason: String
    /// Whether the reader has gone: nobody is left to tell.
    package let isReaderGone: Bool

    package init(reason: String, isReaderGone: Bool) {
      self.reason = reason
      self.isReaderGone = isReaderGone
    }
  }

  package init(
    print: @escaping (String) -> Void, complain: @escaping (String) -> Void, showsProgress: Bool,
    problem: @escaping () -> Problem? = { nil }
  ) {
    self.print = print
    self.complain = complain
    self.showsProgress = showsProgress
    self.problem = problem
  }

  /// Tells on standard error what standard output could not take, unless its reader has gone.
  ///
  /// - Returns: whether it took all.
  package func tellsOfOutput(as program: String) -> Bool {
    guard let problem = problem() else { return true }
    if !problem.isReaderGone {
      complain("\(program): standard output cannot be written: \(problem.reason)\n")
    }
    return false
  }

  /// The process's own streams.
  package static var standard: Console {
    // Without it the end of a reader would be the end of the program, and files would not be written.
    _ = signal(SIGPIPE, SIG_IGN)
    let first = Locked<Problem?>(nil)
    let output = Output(first)
    return Console(
      print: { output.write($0) },
      complain: { _ = write($0, to: STDERR_FILENO) },
      showsProgress: isatty(STDERR_FILENO) == 1 && terminalMoves,
      problem: { output.problem })
  }

  /// Whether the terminal can write over a line: not one that is called dumb, or nothing.
  private static var terminalMoves: Bool {
    guard let name = unsafe getenv("TERM") else { return false }
    return unsafe !["", "dumb"].contains(String(cString: name))
  }

  /// Standard output, and the first thing that it could not take.
  private final class Output: Sendable {
    private let first: Locked<Problem?>

    init(_ first: consuming Locked<Problem?>) { self.first = first }

    func write(_ text: String) {
      guard let problem = Console.write(text, to: STDOUT_FILENO) else { return }
      first.withLock { if $0 == nil { $0 = problem } }
    }

    var problem: Problem? { first.withLock { $0 } }
  }

  /// Writes the whole text, in as many pieces as the system takes it.
  ///
  /// - Returns: why the rest could not be written.
  private static func write(_ text: String, to descriptor: CInt) -> Problem? {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let written = unsafe bytes.withUnsafeBytes {
        unsafe Glibc.write(descriptor, $0.baseAddress, $0.count)
      }
      if written < 0 {
        if errno == EINTR { continue }
        let code = errno
        return Problem(
          reason: unsafe String(cString: strerror(code)), isReaderGone: code == EPIPE)
      }
      bytes = bytes.dropFirst(written)
    }
    return nil
  }
}
