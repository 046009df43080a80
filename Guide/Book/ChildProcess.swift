import Glibc
import Threading

/// How a process that a chapter started has ended, and what it printed.
struct ChildProcess {
  /// What it returned, if it ended by itself.
  let status: Int32?

  /// The signal that ended it, if one did.
  let signal: Int32?
  let output: String
  let errors: String

  /// Runs a part of a chapter in a process of its own, and waits for its end.
  ///
  /// - Parameters:
  ///   - part: its name.
  ///   - chapter: whose part it is.
  ///   - input: the file that is its standard input; none if nil.
  /// - Returns: how it ended.
  /// - Throws: `FileError` if there is no such file, or the system starts no process; `ChapterFailure` if
  ///   the system refused the process something, so that it could not show what it should.
  static func run(
    _ part: String, of chapter: any Chapter.Type, input: String? = nil
  ) throws -> ChildProcess {
    let child = try run(
      ["/proc/self/exe", "run", String(chapter.number), "--part", part], input: input)
    // The program's own line: a sanitizer ends it with statuses of the same numbers.
    if let status = child.status, refusals.contains(where: { $0.rawValue == status }),
      let line = child.errors.split(separator: "\n").last, line.hasPrefix("guide: ")
    {
      throw ChapterFailure("its part \(part): \(line)", .system)
    }
    return child
  }

  private static let refusals: [ExitStatus] = [.noInput, .system, .fileError]

  /// Runs a program, and waits for its end.
  ///
  /// - Throws: `FileError` if the system starts no process.
  static func run(_ words: [String], input: String? = nil) throws(FileError) -> ChildProcess {
    let child = try start(words, input ?? "/dev/null")
    let texts = readBoth(child.output, child.errors)
    var ending: CInt = 0
    while unsafe waitpid(child.processID, &ending, 0) < 0 && errno == EINTR {}
    let signal = ending & 0x7F
    return ChildProcess(
      status: signal == 0 ? ending >> 8 & 0xFF : nil, signal: signal == 0 ? nil : signal,
      output: texts.0, errors: texts.1)
  }

  /// When this returns, the ends for writing are the child's alone, so that each pipe ends with it.
  private static func start(
    _ words: [String], _ input: String
  ) throws(FileError) -> (processID: pid_t, output: Descriptor, errors: Descriptor) {
    let output = try Descriptor.pipe()
    let errors = try Descriptor.pipe()
    let processID = try Spawn.start(
      words, input: try Descriptor.open(input), output: output.writing, errors: errors.writing)
    return (processID, output.reading, errors.reading)
  }

  /// Both at the same time: a process that fills one pipe while the other is read would wait for us.
  private static func readBoth(_ first: Descriptor, _ second: Descriptor) -> (String, String) {
    var ends = [first, second].map { pollfd(fd: $0.number, events: Int16(POLLIN), revents: 0) }
    var texts: [[UInt8]] = [[], []]
    var bytes = [UInt8](repeating: 0, count: 65_536)
    while ends.contains(where: { $0.fd >= 0 }) {
      guard unsafe poll(&ends, 2, -1) > 0 else { continue }
      for index in ends.indices where ends[index].revents != 0 {
        let count = unsafe read(ends[index].fd, &bytes, bytes.count)
        if count > 0 {
          texts[index] += bytes[..<count]
        } else if count == 0 || errno != EINTR {
          ends[index].fd = -1  // poll passes over it
        }
      }
    }
    return (String(decoding: texts[0], as: UTF8.self), String(decoding: texts[1], as: UTF8.self))
  }
}
