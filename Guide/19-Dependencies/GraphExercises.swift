import Threading

extension GraphChapter {
  static let solutions = [
    Solution("values that flow through a graph") { page in
      page.claim("(2 + 3) * (10 - 4) = 30", try formula() == 30)
    },
    Solution("what must be made anew") { page in
      let built = try build(
        "app",
        rules: [
          "app": ["main", "library"], "main": ["header"], "library": ["header"], "header": [],
        ])
      page.claim(
        "everything was made once", built.sorted() == ["app", "header", "library", "main"])
      page.claim("the header first, the app last", built.first == "header" && built.last == "app")
      page.claim(
        "a rule that needs itself is refused",
        (try? build("a", rules: ["a": ["b"], "b": ["a"]])) == nil)
    },
  ]

  /// Each part of a formula is an operation, which begins when its own parts have their values.
  static func formula() throws -> Int {
    let sum = ResultOperation(name: "2 + 3") { 2 + 3 }
    let difference = ResultOperation(name: "10 - 4") { 10 - 4 }
    let product = ResultOperation(name: "product") { try sum.value() * difference.value() }
    try product.addDependency(sum)
    try product.addDependency(difference)
    try ThreadOperationQueue(name: "formula").add(contentsOf: [product, sum, difference])
    return try product.value()
  }

  /// Makes a thing and all that it needs, each once, as a build tool does.
  ///
  /// - Returns: the things in the order in which they were made.
  static func build(_ goal: String, rules: [String: [String]]) throws -> [String] {
    let log = LoopChapter.Log()
    var operations: [String: ThreadOperation] = [:]
    func operation(for thing: String) throws -> ThreadOperation {
      if let known = operations[thing] { return known }
      let made = ClosureOperation(name: thing) { log.add(thing) }
      operations[thing] = made
      for need in rules[thing] ?? [] {
        try made.addDependency(operation(for: need))
      }
      return made
    }
    _ = try operation(for: goal)
    let queue = ThreadOperationQueue(name: "build", width: 2)
    try queue.add(contentsOf: Array(operations.values))
    queue.waitForAll()
    return log.lines
  }
}
