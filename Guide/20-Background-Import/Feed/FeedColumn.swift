/// A column of a feed's file: its name, what its values are, and whether it must be there.
struct FeedColumn: Equatable, Sendable {
  /// What must hold for a feed to be usable.
  enum Presence: Equatable, Sendable {
    /// The file may lack the column.
    case optional
    /// The file must have the column; its values may be empty.
    case columnRequired
    /// The file must have the column, and every row a value in it.
    case valueRequired
  }

  let name: String
  let kind: FeedValueKind
  let presence: Presence

  /// The column's type in the database.
  var sqlType: String {
    switch kind {
    case .text: "TEXT"
    case .integer, .time, .date: "INTEGER"
    case .decimal: "REAL"
    }
  }
}

extension FeedColumn {
  static func text(_ name: String, _ presence: Presence = .optional) -> FeedColumn {
    FeedColumn(name: name, kind: .text, presence: presence)
  }

  static func integer(
    _ name: String, _ range: ClosedRange<Int64>, _ presence: Presence = .optional
  ) -> FeedColumn {
    FeedColumn(name: name, kind: .integer(range), presence: presence)
  }

  static func decimal(
    _ name: String, _ range: ClosedRange<Double>, _ presence: Presence = .optional
  ) -> FeedColumn {
    FeedColumn(name: name, kind: .decimal(range), presence: presence)
  }

  static func time(_ name: String, _ presence: Presence = .optional) -> FeedColumn {
    FeedColumn(name: name, kind: .time, presence: presence)
  }

  static func date(_ name: String, _ presence: Presence = .optional) -> FeedColumn {
    FeedColumn(name: name, kind: .date, presence: presence)
  }
}
