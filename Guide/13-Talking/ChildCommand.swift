import Glibc

/// A program that runs as a child process, with its input and output connected to pipes.
struct ChildCommand {
  let processID: CInt

  /// What is written here, the child reads. Let go of it, and the child reads the end.
  let input: Descriptor

  /// What the child prints.
  let output: Descriptor

  /// Starts a program.
  ///
  /// - Parameter words: its path and its arguments.
  /// - Throws: `FileError` if the system refuses.
  init(_ words: [String]) throws(FileError) {
    let toChild = try Descriptor.pipe()
    let fromChild = try Descriptor.pipe()
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    unsafe posix_spawn_file_actions_adddup2(&actions, toChild.reading.number, STDIN_FILENO)
    unsafe posix_spawn_file_actions_adddup2(&actions, fromChild.writing.number, STDOUT_FILENO)
    var arguments = unsafe words.map { unsafe strdup($0) } + [nil]
    defer { unsafe arguments.forEach { unsafe free($0) } }
    var processID: pid_t = 0
    let code = unsafe posix_spawn(&processID, words[0], &actions, nil, &arguments, environ)
    guard code == 0 else { throw FileError(action: "start", path: words[0], code: code) }
    self.processID = processID
    input = toChild.writing
    output = fromChild.reading
  }
}
