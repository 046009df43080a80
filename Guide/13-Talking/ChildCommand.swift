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
    processID = try Spawn.start(words, input: toChild.reading, output: fromChild.writing)
    input = toChild.writing
    output = fromChild.reading
  }
}
