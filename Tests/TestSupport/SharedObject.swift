import Glibc

/// Shared objects in C, built by a test.
public enum SharedObject {
  /// A compiler: the one of the toolchain or of the system, or none.
  public static let compiler = ["clang", "cc", "gcc"].first {
    unsafe system("command -v \($0) >/dev/null") == 0
  }

  /// What the compiler does not take, or there being none.
  public struct Failure: Error {}

  /// Builds one from its source.
  ///
  /// - Parameters:
  ///   - source: The source.
  ///   - file: The path of the shared object. Neither path has an apostrophe.
  ///   - headers: A folder whose headers it may include.
  /// - Throws: When it cannot be built.
  public static func build(_ source: String, at file: String, including headers: String) throws {
    guard let compiler else { throw Failure() }
    let command = "\(compiler) -shared -fPIC -Wall -Werror -I '\(headers)' -x c - -o '\(file)'"
    guard let input = unsafe popen(command, "w") else { throw Failure() }
    _ = unsafe fputs(source, input)
    if unsafe pclose(input) != 0 { throw Failure() }
  }
}
