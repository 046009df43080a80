import Threading

/// The import as an operation, for a queue to run on a thread of its own.
///
/// The operation adds two things to ``FeedImporter``: the queue's thread, and the flag that
/// `cancel()` sets on any thread and the importer looks at before each record.
// SAFETY of @unchecked: `summary` is written by `main()` and read by whoever has seen the operation's
// end, which happens after it. The other properties never change.
final class ImportOperation: ThreadOperation, @unchecked Sendable {
  private let plan: ImportPlan
  private let library: SQLiteLibrary
  private let report: @Sendable (ImportEvent) -> Void

  /// How the import went. If it is cancelled before it has begun, this is all there is to say.
  private(set) var summary = ImportSummary(failure: .cancelled)

  /// An import of `plan`; `report` is called on the thread that runs it.
  init(
    plan: ImportPlan, library: SQLiteLibrary, report: @escaping @Sendable (ImportEvent) -> Void
  ) {
    self.plan = plan
    self.library = library
    self.report = report
    super.init(name: "import")
  }

  // snippet: operation
  override func main() {
    let importer = FeedImporter(
      plan: plan, library: library, isCancelled: { self.isCancelled }, report: report)
    summary = importer.run()
  }
  // end
}
