import BenchmarkSupport
import Foundation

/// A file that the command line names, read line by line.
struct InputFile {
  /// The option that names it.
  let option: String
  let path: String
  let lines: [String]

  /// Reads the file.
  ///
  /// - Throws: an error with the system's reason when it cannot be read.
  init(_ path: String, for option: String) throws(UsageError) {
    self.option = option
    self.path = path
    let data: Data
    do {
      data = try Self.content(of: path)
    } catch {
      throw UsageError(
        option: option, value: path, allowed: "a file that can be read (\(error.reason))")
    }
    guard let text = String(bytes: data, encoding: .utf8) else {
      throw UsageError(option: option, value: path, allowed: "a file of text in UTF-8")
    }
    // A line may end as it does on Windows; Swift takes the two for one character.
    var lines = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
      .map(String.init)
    // The end of the last line is not the beginning of another.
    if lines.last?.isEmpty == true { lines.removeLast() }
    self.lines = lines
  }

  /// The error for a line that is not what it should be. Lines are counted from 1.
  func refusal(ofLine number: Int, expected: String) -> FileError {
    FileError(
      option: option, path: path, line: number,
      text: lines.indices.contains(number - 1) ? lines[number - 1] : nil, expected: expected)
  }

  private struct Refusal: Error {
    let reason: String
  }

  /// All that can be read, of a file, or of a pipe until its writers are gone.
  private static func content(of path: String) throws(Refusal) -> Data {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw Refusal(reason: unsafe String(cString: strerror(errno))) }
    defer { close(descriptor) }
    var content = Data()
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = unsafe read(descriptor, &buffer, buffer.count)
      if count == 0 { return content }
      if count > 0 {
        content.append(contentsOf: buffer[..<count])
      } else if errno != EINTR {
        // A folder can be opened and not be read.
        throw Refusal(reason: unsafe String(cString: strerror(errno)))
      }
    }
  }
}

/// A file that was read and is not what the option needs: the first line at fault.
struct FileError: Error, Equatable, CustomStringConvertible {
  let option: String
  let path: String
  let line: Int
  /// The line; nil where the file has ended.
  let text: String?
  let expected: String

  var description: String {
    let found = text.map { "\"\($0.prefix(80))\" is refused" } ?? "the file ends here"
    return "\(option): \(path), line \(line): \(found); expected is \(expected)"
  }
}
