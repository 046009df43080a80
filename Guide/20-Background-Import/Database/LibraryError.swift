/// The SQLite library cannot be used.
struct LibraryError: Error, Equatable, CustomStringConvertible {
  let name: String
  let reason: String

  var description: String {
    """
    cannot use the database library \(name): \(reason)
    It is SQLite, which comes with nearly every Linux. To get it: apt-get install libsqlite3-0, or \
    dnf install sqlite-libs. Another file can be named with --sqlite-library.
    """
  }
}
