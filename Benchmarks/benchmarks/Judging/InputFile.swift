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
    if let reason = Self.reasonAgainstReading(path) {
      throw UsageError(
        option: option, value: path, allowed: "a file that can be read (\(reason))")
    }
    let data: Data
    do {
      data = try Data(contentsOf: URL(fileURLWithPath: path))
    } catch {
      throw UsageError(
        option: option, value: path,
        allowed: "a file that can be read (\(error.localizedDescription))")
    }
    guard let text = String(bytes: data, encoding: .utf8) else {
      throw UsageError(option: option, value: path, allowed: "a file of text in UTF-8")
    }
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
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

  /// Why the system does not let the file be read, in its own words; nil when it does.
  private static func reasonAgainstReading(_ path: String) -> String? {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return unsafe String(cString: strerror(errno)) }
    defer { close(descriptor) }
    // A folder can be opened and not be read.
    var byte: UInt8 = 0
    return unsafe read(descriptor, &byte, 1) >= 0 ? nil : String(cString: strerror(errno))
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
