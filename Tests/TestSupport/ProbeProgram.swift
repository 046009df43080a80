import Glibc

/// A program that the build puts beside the program of the tests, run as a process of its own.
public enum ProbeProgram {
  /// Runs the program and waits for its end.
  ///
  /// - Parameters:
  ///   - name: the program's file name.
  ///   - arguments: words without spaces.
  /// - Returns: Its exit status, or the negative signal that ended it; and its standard output.
  public static func run(_ name: String, _ arguments: [String]) -> (status: CInt, output: String) {
    var path = [CChar](repeating: 0, count: 4096)
    let length = unsafe readlink("/proc/self/exe", &path, path.count - 1)
    precondition(length > 0, "ProbeProgram: the program of the tests is not known")
    let own = String(decoding: path.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let folder = own[..<(own.lastIndex(of: "/") ?? own.endIndex)]
    // exec: the program takes the place of the shell, so its end is what pclose reports.
    let command = "exec '\(folder)/\(name)' \(arguments.joined(separator: " "))"
    guard let pipe = unsafe popen(command, "re") else { fatalError("ProbeProgram: no pipe") }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = unsafe fread(&buffer, 1, buffer.count, pipe)
      if count == 0 { break }
      bytes += buffer[..<count]
    }
    let status = unsafe pclose(pipe)
    return (
      status & 0x7F == 0 ? status >> 8 & 0xFF : -(status & 0x7F),
      String(decoding: bytes, as: UTF8.self)
    )
  }
}
