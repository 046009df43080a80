import Threading

/// Names, priorities, policies and processors. `README.md` beside this file explains it.
enum NamesChapter: Chapter {
  static let number = 3
  static let name = "names"
  static let title = "Names, priorities, policies, processors"
  static let folder = "03-Names-And-Priorities"

  static func run(on page: Page) throws {
    page.section("A name")
    try showNames(on: page)
    page.section("A weight among ordinary threads: the nice value")
    try showNice(on: page)
    page.section("A policy")
    try showPolicies(on: page)
    page.section("Processors")
    try showProcessors(on: page)
  }
}
