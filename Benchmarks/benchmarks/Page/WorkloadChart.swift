import BenchmarkSupport

/// Bars of ratios and dots of samples, of the implementations of one workload.
struct WorkloadChart {
  let rows: [Row]
  private let ratios: LogScale
  private let values: LogScale

  init(rows: [Row]) {
    self.rows = rows
    // Half and twice are on every picture, so that small differences look small; and beyond a
    // hundredfold the number tells more than the length.
    let known = rows.compactMap(\.ratioToOurs)
    ratios = LogScale(
      from: max(1 / 64, min(0.45, (known.min() ?? 1) / 1.25)),
      to: min(128, max(2.2, (known.max() ?? 1) * 1.25)))
    values = LogScale(around: rows.flatMap(\.samples))
  }

  private static let rowHeight = 26

  /// The scale above the bars.
  var axis: String {
    let ticks = ratios.ticks(atMost: 7)
    let labels = ticks.map {
      Markup.label(Self.tick($0), x: ratios.place(of: $0), y: 0.8, anchor: "middle")
    }
    let ends = [
      Markup.label(Figures.amount(values.lowest, rows[0].unit), x: 0, y: 0.8, anchor: "start"),
      Markup.label(Figures.amount(values.highest, rows[0].unit), x: 1, y: 0.8, anchor: "end"),
    ]
    let hasRatios = rows.contains { $0.ratioToOurs != nil }
    return """
      <div class="row axis" aria-hidden="true"><span></span><span></span>
      \(hasRatios ? Self.scale(labels) : "<span></span>")
      \(Self.scale(ends))
      </div>
      """
  }

  private static func scale(_ labels: [String]) -> String {
    Markup.picture("scale", height: 16, describing: "scale", labels.joined())
  }

  /// The line of one implementation.
  func line(_ row: Row) -> String {
    let style = Self.style(of: row)
    let details =
      "min \(Figures.amount(row.minimum, row.unit)), p99 \(Figures.amount(row.percentile99, row.unit)), "
      + "spread \(Figures.percent(row.spread)), cpu \(Figures.amount(row.cpuNanoseconds, .nanoseconds)), "
      + "\(Figures.forPeople(row.switches)) switches"
    let ratio = row.ratioToOurs.map { Self.times($0) + (row.isNoisy ? " ~" : "") } ?? ""
    return """
      <div class="row \(style)" title="\(Markup.escaped(details))">
      <span class="name">\(Markup.escaped(row.implementation))</span>
      <span class="figures"><b>\(Figures.amount(row.median, row.unit))</b> <i>\(ratio)</i></span>
      \(bar(row))
      \(samples(row))
      </div>
      """
  }

  private func bar(_ row: Row) -> String {
    guard let ratio = row.ratioToOurs else { return "<span></span>" }
    var content = ratios.ticks(atMost: 7).map {
      Markup.line(from: (ratios.place(of: $0), 0), to: (ratios.place(of: $0), 1), "tick")
    }.joined()
    let one = ratios.place(of: 1)
    let end = ratios.place(of: ratio)
    content += Markup.box(
      x: min(one, end), width: abs(end - one), y: 0.22, height: 0.56, "bar")
    if let low = row.ratioLowerQuartile, let high = row.ratioUpperQuartile {
      content += Markup.line(
        from: (ratios.place(of: low), 0.5), to: (ratios.place(of: high), 0.5), "range")
    }
    content += Markup.line(from: (one, 0), to: (one, 1), "one")
    if !ratios.contains(ratio) {
      content += Markup.label(
        ratio > 1 ? "▸" : "◂", x: ratio > 1 ? 0.995 : 0.005, y: 0.68,
        anchor: ratio > 1 ? "end" : "start")
    }
    let description =
      "\(row.implementation) takes \(Self.times(ratio)) what ours takes"
    return Markup.picture("ratio", height: Self.rowHeight, describing: description, content)
  }

  private func samples(_ row: Row) -> String {
    let dots = row.samples.enumerated().map { index, value in
      // Dots of one place do not hide each other: they stand on five levels in turn.
      Markup.dot(
        x: values.place(of: value), y: 0.3 + 0.1 * Double(index % 5), radius: 2.5, "dot",
        title: Figures.amount(value, row.unit))
    }
    let median = values.place(of: row.median)
    let content =
      Markup.line(from: (0, 0.98), to: (1, 0.98), "tick") + dots.joined()
      + Markup.line(from: (median, 0.08), to: (median, 0.92), "median")
    let description =
      "samples of \(row.implementation) from \(Figures.amount(row.minimum, row.unit))"
      + " to \(Figures.amount(row.samples.max() ?? row.minimum, row.unit))"
    return Markup.picture("samples", height: Self.rowHeight, describing: description, content)
  }

  /// The class that gives a line its colours.
  static func style(of row: Row) -> String {
    let noise = row.isNoisy ? " noisy" : ""
    if Implementation.isOurs(row.implementation) { return "ours" + noise }
    guard let ratio = row.ratioToOurs else { return "even" + noise }
    return (ratio < 1 ? "ahead" : "behind") + noise
  }

  /// A ratio: `0.45×`, `12×`.
  static func times(_ ratio: Double) -> String {
    Figures.forPeople(ratio) + "×"
  }

  /// A round ratio: `0.5×`, `10×`.
  static func tick(_ ratio: Double) -> String {
    let number =
      ratio < 1
      ? Figures.trimmed(Figures.fixed(ratio, decimals: 3)) : Figures.compact(Int(ratio))
    return number + "×"
  }
}
