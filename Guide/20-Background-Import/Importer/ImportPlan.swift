/// What is to be imported, and how.
struct ImportPlan: Sendable {
  /// How many records go into one transaction.
  static let batchSize = 250

  /// The folder with the feed's files.
  let feed: String

  /// Whether it is the feed that comes with the guide.
  var isSample = false

  /// What the feed is called in what is printed.
  var feedName: String { isSample ? "the sample feed" : feed }

  /// The database's file.
  let database: String

  /// Whether the first problem ends the import and undoes all of it.
  var isStrict = false
}
