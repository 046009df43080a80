import Glibc

/// Starts programs as child processes.
enum Spawn {
  /// Starts a program with what it shall have as standard input, output and error.
  ///
  /// - Parameters:
  ///   - words: the program's path and its arguments.
  ///   - input: where it reads.
  ///   - output: where it prints.
  ///   - errors: where it complains; where we do if nil.
  /// - Returns: the child's number. It is to be waited for.
  /// - Throws: `FileError` if the system refuses.
  static func start(
    _ words: [String], input: Descriptor, output: Descriptor, errors: Descriptor? = nil
  ) throws(FileError) -> pid_t {
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    unsafe posix_spawn_file_actions_adddup2(&actions, input.number, STDIN_FILENO)
    unsafe posix_spawn_file_actions_adddup2(&actions, output.number, STDOUT_FILENO)
    if let errors {
      unsafe posix_spawn_file_actions_adddup2(&actions, errors.number, STDERR_FILENO)
    }

    // What we ignore, the child need not.
    var attributes = posix_spawnattr_t()
    unsafe posix_spawnattr_init(&attributes)
    defer { unsafe posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    unsafe sigemptyset(&signals)
    for signal in [SIGPIPE, SIGXFSZ] { unsafe sigaddset(&signals, signal) }
    unsafe posix_spawnattr_setsigdefault(&attributes, &signals)
    unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))

    var arguments = unsafe words.map { unsafe strdup($0) } + [nil]
    defer { unsafe arguments.forEach { unsafe free($0) } }
    var environment = unsafe variables.map { unsafe strdup($0) } + [nil]
    defer { unsafe environment.forEach { unsafe free($0) } }
    var processID: pid_t = 0
    let code = unsafe posix_spawn(
      &processID, words[0], &actions, &attributes, &arguments, &environment)
    guard code == 0 else { throw FileError(action: "start", path: words[0], code: code) }
    return processID
  }

  /// Our variables. Where a crash is to be shown, its stack trace would only take time.
  private static var variables: [String] {
    var variables = ["SWIFT_BACKTRACE=enable=no"]
    var next = unsafe environ
    while let variable = unsafe next.pointee {
      let text = unsafe String(cString: variable)
      if !text.hasPrefix("SWIFT_BACKTRACE=") { variables.append(text) }
      unsafe next += 1
    }
    return variables
  }
}
