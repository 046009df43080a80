/// A chapter of the book: a text, and a program that shows what the text says and proves it.
///
/// A chapter is an enum without cases in a folder of its own, beside its text `README.md`, the rest of
/// its program and the solutions of its exercises.
protocol Chapter: SendableMetatype {
  static var number: Int { get }

  /// What it is called on the command line, beside its number.
  static var name: String { get }
  static var title: String { get }

  /// The name of its folder in `Guide`.
  static var folder: String { get }

  /// Runs the program.
  ///
  /// - Throws: what stopped it. A claim that does not hold is not thrown but told to the page.
  static func run(on page: Page) throws

  /// What it may be given on the command line, as the help calls it; nil for nothing.
  static var word: String? { get }

  /// Whether it has a web server, whose port may be chosen.
  static var hasServer: Bool { get }

  /// How many threads and open files it may have at once, also through libraries that it shows.
  static var threads: Int { get }
  static var descriptors: Int { get }

  /// Runs the program with what it was given.
  ///
  /// - Throws: what stopped it.
  static func run(with input: ChapterInput, on page: Page) throws

  /// The solutions of its exercises, in their order.
  static var solutions: [Solution] { get }

  /// What the program runs in processes of their own.
  static var parts: [Part] { get }
}

/// The solution of an exercise: a program, too.
struct Solution: Sendable {
  let title: String
  let run: @Sendable (Page) throws -> Void

  init(_ title: String, run: @escaping @Sendable (Page) throws -> Void) {
    self.title = title
    self.run = run
  }
}

/// What a chapter runs in a process of its own, because it ends the process or spoils it.
struct Part: Sendable {
  let name: String
  let run: @Sendable (Page) throws -> Void

  init(_ name: String, run: @escaping @Sendable (Page) throws -> Void) {
    self.name = name
    self.run = run
  }
}

extension Chapter {
  static var parts: [Part] { [] }

  static var word: String? { nil }

  static var hasServer: Bool { false }

  static var threads: Int { 24 }

  static var descriptors: Int { 16 }

  static func run(with input: ChapterInput, on page: Page) throws { try run(on: page) }

  /// Where the text stands, from the package's folder.
  static var textPath: String { "Guide/\(folder)/README.md" }
}
