import BenchmarkSupport

/// Curves of what an item takes at growing numbers of items, for one workload.
struct GrowthChart {
  /// One for each implementation.
  let lines: [Growth]

  /// So many curves have colours that can be told apart.
  private static let colours = 6

  var text: String {
    let name = Markup.escaped(lines[0].workload)
    return """
      <article>
      <h3>\(name)</h3>
      \(picture)
      <ul class="legend">\(legend)</ul>
      </article>
      """
  }

  private var legend: String {
    lines.enumerated().map { index, line in
      let exponent = line.exponent.map { "exponent \(Figures.fixed($0, decimals: 2))" } ?? ""
      let last = line.points.last.map { Figures.amount($0.value, line.unit) } ?? ""
      return "<li><span class=\"key c\(index % Self.colours)\"></span>"
        + "<b>\(Markup.escaped(line.implementation))</b> \(last) \(exponent)</li>"
    }.joined()
  }

  private var picture: String {
    let points = lines.flatMap(\.points)
    let across = LogScale(around: points.map { Double($0.items) }, room: 1.4)
    let up = LogScale(around: points.map(\.value), room: 1.6)
    // Room on the left and below for the numbers.
    func place(_ items: Double, _ value: Double) -> (x: Double, y: Double) {
      (0.12 + 0.87 * across.place(of: items), 0.02 + 0.86 * (1 - up.place(of: value)))
    }
    var content = ""
    for tick in up.ticks(atMost: 6) {
      let y = place(across.lowest, tick).y
      content += Markup.line(from: (0.12, y), to: (0.99, y), "tick")
      content += Markup.label(
        Figures.amount(tick, lines[0].unit), x: 0.11, y: y + 0.015, anchor: "end")
    }
    for size in Set(points.map(\.items)).sorted() {
      let x = place(Double(size), up.lowest).x
      content += Markup.line(from: (x, 0.02), to: (x, 0.88), "tick")
      content += Markup.label(Figures.compact(size), x: x, y: 0.97, anchor: "middle")
    }
    for (index, line) in lines.enumerated() {
      let places = line.points.filter { $0.value > 0 }.map { place(Double($0.items), $0.value) }
      for (start, end) in zip(places, places.dropFirst()) {
        content += Markup.line(from: start, to: end, "curve c\(index % Self.colours)")
      }
      for (point, place) in zip(line.points.filter { $0.value > 0 }, places) {
        content += Markup.dot(
          x: place.x, y: place.y, radius: 3.5, "point c\(index % Self.colours)",
          title: "\(line.implementation), \(Figures.grouped(point.items)) items: "
            + Figures.amount(point.value, line.unit))
      }
    }
    let description =
      "what an item of \(lines[0].workload) takes, for "
      + lines.map(\.implementation).joined(separator: ", ")
    return Markup.picture("growth", height: 260, describing: description, content)
  }
}
