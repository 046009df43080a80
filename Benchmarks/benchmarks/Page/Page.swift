/// The report as one page of HTML that needs nothing else: no script, no font, no picture from
/// elsewhere.
struct Page {
  let report: Report
  /// What one item of each workload is.
  let items: [String: String]

  /// The whole file.
  var text: String {
    let areas = Page.areas(of: report.rows)
    let growth = Page.groups(of: report.growth, by: \.workload)
    return """
      <!DOCTYPE html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta name="color-scheme" content="light dark">
      <title>Benchmarks, \(Markup.escaped(report.machine.date))</title>
      <style>
      \(PageStyle.text)
      </style>
      </head>
      <body>
      <header>
      <h1>Benchmarks</h1>
      <p>\(Markup.escaped(report.machine.summary))<br>
      \(Markup.escaped(report.machine.date)), \(report.plan.samples) samples of each, interleaved</p>
      \(summary)
      \(navigation(areas.map(\.name), hasGrowth: !growth.isEmpty))
      </header>
      <main>
      \(areas.map(section).joined(separator: "\n"))
      \(growth.isEmpty ? "" : growthSection(growth))
      </main>
      \(Page.footer)
      </body>
      </html>

      """
  }

  // MARK: - At the top

  private var summary: String {
    let rivals = report.rows.filter { !Implementation.isOurs($0.implementation) }
    let ratios = rivals.filter { !$0.isNoisy }.compactMap(\.ratioToOurs)
    guard !rivals.isEmpty else { return "" }
    let figures = [
      ("rivals ahead", ratios.count { $0 < 1 / Row.noisyRange }),
      ("about equal", ratios.count { $0 >= 1 / Row.noisyRange && $0 <= Row.noisyRange }),
      ("rivals behind", ratios.count { $0 > Row.noisyRange }),
      ("too noisy", rivals.count(where: \.isNoisy)),
    ]
    let tiles = figures.map { "<div><dt>\($0.0)</dt><dd>\($0.1)</dd></div>" }.joined()
    return "<dl class=\"tiles\" aria-label=\"Rivals, by their time relative to ours\">\(tiles)</dl>"
  }

  private func navigation(_ areas: [String], hasGrowth: Bool) -> String {
    let links = areas.map { ($0, "area-" + $0) } + (hasGrowth ? [("growth", "growth")] : [])
    let texts = links.map {
      "<a href=\"#\(Markup.escaped($0.1))\">\(Markup.escaped($0.0))</a>"
    }
    return "<nav>\(texts.joined(separator: " "))</nav>"
  }

  private static let footer = """
    <footer>
    <h2>How to read this</h2>
    <p>Each line is one implementation. The bar is what it takes relative to <b>ours</b>, on a scale
    that doubles at equal distances: to the right, it takes longer than ours; to the left, ours takes
    longer. The thin line over a bar spans the middle half of the rounds. Faded bars were too noisy
    to conclude from. An arrow stands where a bar would leave the page; the number is right all
    the same.</p>
    <p>The dots are the samples, slow ones to the right, on a logarithmic scale of their own for each
    workload; the upright stroke is their median. Two heaps of dots tell of two ways in which the
    scheduler placed the threads.</p>
    <p>Times are for one item. <i>cpu</i> is the processor time of the whole process, <i>switches</i>
    how often a thread gave up or lost its processor, both for one item.</p>
    </footer>
    """

  // MARK: - Grouping

  struct Area {
    let name: String
    let workloads: [[Row]]
  }

  /// The rows by area and workload, in their order.
  static func areas(of rows: [Row]) -> [Area] {
    let workloads = groups(of: rows, by: \.workload)
    return groups(of: workloads) { String($0[0].workload.prefix { $0 != "/" }) }.map {
      Area(name: String($0[0][0].workload.prefix { $0 != "/" }), workloads: $0)
    }
  }

  /// The elements that have the same key together, by the first of each.
  static func groups<Element>(
    of elements: [Element], by key: (Element) -> String
  ) -> [[Element]] {
    var order: [String] = []
    var groups: [String: [Element]] = [:]
    for element in elements {
      let key = key(element)
      if groups[key] == nil { order.append(key) }
      groups[key, default: []].append(element)
    }
    return order.compactMap { groups[$0] }
  }

  // MARK: - Workloads

  private func section(_ area: Area) -> String {
    """
    <section id="area-\(Markup.escaped(area.name))">
    <h2>\(Markup.escaped(area.name))</h2>
    \(area.workloads.map(card).joined(separator: "\n"))
    </section>
    """
  }

  private func card(_ rows: [Row]) -> String {
    let first = rows[0]
    let what = items[first.workload].map { "<p>\(Markup.escaped($0))</p>" } ?? ""
    let chart = WorkloadChart(rows: rows)
    return """
      <article>
      <h3>\(Markup.escaped(first.workload))</h3>
      \(what)
      \(chart.axis)
      \(rows.map(chart.line).joined(separator: "\n"))
      </article>
      """
  }

  private func growthSection(_ workloads: [[Growth]]) -> String {
    """
    <section id="growth">
    <h2>growth</h2>
    <p>What an item takes when there are so many. The exponent is that of the time for all of them:
    1 is linear.</p>
    \(workloads.map { GrowthChart(lines: $0).text }.joined(separator: "\n"))
    </section>
    """
  }
}
