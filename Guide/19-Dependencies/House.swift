import Threading

extension GraphChapter {
  struct Built {
    var drawing: [String] = []
    var isInOrder = false
    var metMeanwhile = false
  }

  static func buildHouse() throws -> Built {
    let log = LoopChapter.Log()
    let meeting = CyclicBarrier(2)
    let met = AtomicFlag()
    func work(_ name: String) -> ClosureOperation {
      ClosureOperation(name: name) {
        log.add("begin \(name)")
        if name == "walls" || name == "garden" {
          if meeting.wait(for: .seconds(20)).isPassed { _ = met.testAndSet() }
        }
        log.add("end \(name)")
      }
    }
    // snippet: graph
    let ground = work("ground")
    let walls = work("walls")
    let garden = work("garden")
    let roof = work("roof")
    let party = work("party")
    try walls.addDependency(ground)
    try garden.addDependency(ground)
    try roof.addDependency(walls)
    try party.addDependency(roof)
    try party.addDependency(garden)

    let all = [party, roof, garden, walls, ground]
    let drawing = draw(all)
    let pool = try ThreadPool(maximumThreads: 2)
    let queue = ThreadOperationQueue(name: "house", width: 2, pool: pool)
    try queue.add(contentsOf: all)
    queue.waitForAll()
    // end
    pool.shutDown()
    let lines = log.lines
    func isBefore(_ first: String, _ second: String) -> Bool {
      guard let one = lines.firstIndex(of: first), let two = lines.firstIndex(of: second) else {
        return false
      }
      return one < two
    }
    let isInOrder =
      isBefore("end ground", "begin walls") && isBefore("end ground", "begin garden")
      && isBefore("end walls", "begin roof") && isBefore("end roof", "begin party")
      && isBefore("end garden", "begin party")
    return Built(drawing: drawing, isInOrder: isInOrder, metMeanwhile: met.isSet)
  }

  // snippet: draw
  /// A line for each operation and what it waits for.
  static func draw(_ operations: [ThreadOperation]) -> [String] {
    operations.map { operation in
      let names = operation.dependencies.map { $0.name ?? "?" }
      let arrow = names.isEmpty ? "waits for nothing" : "<- " + names.joined(separator: ", ")
      return Figures.padded(operation.name ?? "?", to: 7) + arrow
    }
  }
  // end

  static func circle() throws -> String? {
    let operations = ["a", "b", "c"].map { name in ClosureOperation(name: name) {} }
    // snippet: circle
    try operations[0].addDependency(operations[1])
    try operations[1].addDependency(operations[2])
    do throws(ThreadOperationError) {
      try operations[2].addDependency(operations[0])
      return nil
    } catch {
      guard error.reason == .dependencyCycle else { return nil }
      return error.message.split(separator: ": ").last.map(String.init)
    }
    // end
  }
}
