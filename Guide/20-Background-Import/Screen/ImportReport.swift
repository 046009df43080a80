/// The text that an import ends with.
struct ImportReport {
  let plan: ImportPlan
  let result: ImportSession.Result

  /// In bytes; nil if unknown.
  let peakMemory: Int?

  private static let shownRoutes = 5

  /// Leaves room for figures of five digits in 80 columns.
  private static let nameWidth = 24

  /// The report, line by line.
  var lines: [String] {
    var lines = [outcome]
    if !result.summary.tables.isEmpty { lines += [""] + tables }
    if !problems.isEmpty { lines += [""] + problems }
    if !result.board.routes.isEmpty { lines += [""] + routes }
    return lines + [""] + figures
  }

  private var summary: ImportSummary { result.summary }

  private var outcome: String {
    switch summary.failure {
    case nil where summary.lacksRequiredTable:
      "imported \(plan.feedName) into \(plan.database) in part: a required file cannot be used"
    case nil:
      "imported \(plan.feedName) into \(plan.database)"
    case .cancelled where plan.isStrict:
      "cancelled: under --strict the database is as it was before"
    case .cancelled:
      "cancelled: \(plan.database) holds whole batches; the next import goes on from there"
    case .refused:
      "refused under --strict: the database is as it was before"
    case .view:
      "imported \(plan.feedName) into \(plan.database), but its rows could not all be shown"
    case .noFeed, .file, .database:
      plan.isStrict
        ? "failed: under --strict the database is as it was before"
        : "failed: what was imported before is in \(plan.database), in whole batches"
    }
  }

  // MARK: The tables

  private var tables: [String] {
    let undone = summary.tables.contains { $0.rolledBack > 0 }
    var columns: [(String, (TableCounts) -> Int)] = [
      ("rows", \.read), ("inserted", \.inserted), ("updated", \.updated),
      ("unchanged", \.unchanged), ("skipped", \.skipped),
    ]
    if undone { columns.append(("rolled back", \.rolledBack)) }
    let names = ["table"] + summary.tables.map(\.table)
    var lines = names.map { Figures.padded($0, to: 14) }
    for (title, count) in columns {
      let cells = [title] + summary.tables.map { Figures.grouped(count($0)) }
      let width = max(10, cells.map(\.count).max()! + 2)
      for (line, cell) in cells.enumerated() {
        lines[line] += Figures.padded(cell, to: width, right: true)
      }
    }
    let blank = summary.tables.reduce(0) { $0 + $1.blankLines }
    if blank > 0 { lines.append("blank lines passed over: \(Figures.grouped(blank))") }
    return lines
  }

  private var problems: [String] {
    var lines: [String] = []
    for table in summary.tables {
      for kind in Problem.Kind.allCases {
        guard let count = table.problems[kind] else { continue }
        lines.append("  \(table.table).txt: \(kind.rawValue): \(Figures.grouped(count))")
      }
    }
    if lines.isEmpty { return [] }
    let count = summary.tables.reduce(0) { $0 + $1.problems.values.reduce(0, +) }
    let isCut = count > FeedImporter.toldProblems
    return [
      isCut ? "problems (the first \(FeedImporter.toldProblems) are told above):" : "problems:"
    ]
      + lines
  }

  // MARK: The view

  private var routes: [String] {
    let board = result.board.routes
    let busiest = board.sorted {
      ($1.value.newStopTimes, $0.key) < ($0.value.newStopTimes, $1.key)
    }
    var lines = ["the main thread's view, read by id while the import ran:"]
    for (id, route) in busiest.prefix(Self.shownRoutes) {
      lines.append(line(id.isEmpty ? "(no such trip)" : route.name, route))
    }
    let more = board.count - Self.shownRoutes + result.board.otherRoutes
    if more > 0 { lines.append("  and \(Figures.grouped(more)) more routes") }
    let others = result.board.others
    if others != RouteBoard.Route() { lines.append(line("routes beyond those", others)) }
    return lines
  }

  private func line(_ name: String, _ route: RouteBoard.Route) -> String {
    let name = Printable.plain(name, width: Self.nameWidth)
    var line = "  " + Figures.padded(name, to: Self.nameWidth)
    line += "  \(Figures.grouped(route.newTrips)) new trips, "
    line += "\(Figures.grouped(route.newStopTimes)) new stop times"
    if let first = route.firstDeparture, let last = route.lastDeparture {
      line += ", \(Figures.clock(first)) to \(Figures.clock(last))"
    }
    if route.changedRows > 0 { line += ", \(Figures.grouped(route.changedRows)) changed rows" }
    return line
  }

  // MARK: The figures

  private var figures: [String] {
    let seconds = result.duration / .seconds(1)
    let rate = seconds > 0 ? Int(Double(summary.rowsRead) / seconds) : 0
    let memory = peakMemory.map { Figures.tenths(Double($0) / 1_048_576) + " MiB" } ?? "unknown"
    let heartbeat = result.heartbeat
    let own = heartbeat.longestOwnDelay.map {
      ["                    for \(Figures.milliseconds($0)) without waiting for a processor"]
    }
    return [
      "records a second:   \(Figures.grouped(rate)) "
        + "(\(Figures.grouped(summary.rowsRead)) in \(Figures.milliseconds(result.duration)))",
      "peak memory:        \(memory)",
      "main loop:          unresponsive for \(Figures.milliseconds(heartbeat.longestDelay)) at the "
        + "longest (\(Figures.grouped(heartbeat.beats)) looks)",
    ] + (own ?? [])
  }
}
