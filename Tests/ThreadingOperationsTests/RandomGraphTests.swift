import Synchronization
import TestSupport
import Testing
import Threading

/// Random graphs of operations over several queues, against a model that computes the same values one
/// after another.
@Suite("Random graphs", .endsInTime)
struct RandomGraphTests {
  /// Computes a value from those of its dependencies.
  private final class Node: ThreadOperation, @unchecked Sendable {
    let index: Int
    let inputs: [Node]
    let gauge: Gauge
    let isOpen: Bool
    let hurried: Bool
    let token: Census.Token
    /// 0 for one that did not run.
    private(set) var value: UInt64 = 0
    let runs = Atomic<Int>(0)
    let ends = Atomic<Int>(0)
    let early = Atomic<Int>(0)
    /// Whether `main()` is through but for its return.
    let isThrough = Atomic<Bool>(false)

    init(
      index: Int, inputs: [Node], gauge: Gauge, isOpen: Bool, hurried: Bool, token: Census.Token
    ) {
      self.index = index
      self.inputs = inputs
      self.gauge = gauge
      self.isOpen = isOpen
      self.hurried = hurried
      self.token = token
      super.init()
    }

    override var isAsynchronous: Bool { isOpen }

    override func main() {
      gauge.enter()
      runs.wrappingAdd(1, ordering: .relaxed)
      for input in inputs where !input.isFinished {
        early.wrappingAdd(1, ordering: .relaxed)
      }
      if !hurried { SystemYield.now() }
      value = Self.value(of: index, from: inputs.map(\.value))
      gauge.leave()
      isThrough.store(true, ordering: .releasing)
      if isOpen, hurried { finish() }
    }

    static func value(of index: Int, from inputs: [UInt64]) -> UInt64 {
      inputs.reduce(UInt64(index) &* 0x9E37_79B9 | 1) { ($0 ^ $1) &* 0x1000_0000_01B3 | 1 }
    }
  }

  @Test(
    "Each runs at most once, after its dependencies, within the width, and all finish",
    arguments: 0..<(LongTests.areOn ? 3_000 : 60))
  func graphs(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let census = Census()
    do {
      let pool = try ThreadPool(maximumThreads: 3)
      let widths = [1, 2, 4]
      let queues = widths.map { ThreadOperationQueue(name: "width \($0)", width: $0, pool: pool) }
      let gauges = widths.map { _ in Gauge() }
      let count = Int.random(in: 1...120, using: &random)
      let withCancels = seed % 3 != 0
      var nodes: [Node] = []
      var places: [Int] = []
      for index in 0..<count {
        let place = Int.random(in: 0..<queues.count, using: &random)
        let degree = min(index, [0, 1, 1, 2, 3, 8].randomElement(using: &random)!)
        let inputs = nodes.shuffled(using: &random).prefix(degree)
        let node = Node(
          index: index, inputs: Array(inputs), gauge: gauges[place],
          isOpen: Int.random(in: 0..<4, using: &random) == 0,
          hurried: Bool.random(using: &random), token: census.token())
        node.priority = ThreadOperation.Priority.allCases.randomElement(using: &random)!
        for input in inputs { try node.addDependency(input) }
        node.addCompletion { operation in
          (operation as? Node)?.ends.wrappingAdd(1, ordering: .relaxed)
        }
        nodes.append(node)
        places.append(place)
      }
      let order = Array(0..<count).shuffled(using: &random)
      let isDone = Atomic<Bool>(false)
      let seeds = (0..<2).map { _ in random.next() }
      // One thread adds, one disturbs, one finishes the asynchronous ones that are on their own.
      try concurrently(3) { [nodes, places] thread in
        switch thread {
        case 0:
          for index in order {
            do {
              try queues[places[index]].add(nodes[index])
            } catch {
              Issue.record("\(error)")
            }
          }
        case 1:
          var random = SeededGenerator(seed: seeds[0])
          for _ in 0..<40 {
            let node = nodes.randomElement(using: &random)!
            let queue = queues.randomElement(using: &random)!
            switch Int.random(in: 0..<6, using: &random) {
            case 0 where withCancels: node.cancel()
            case 1: queue.suspend()
            case 2: queue.resume()
            case 3: node.priority = ThreadOperation.Priority.allCases.randomElement(using: &random)!
            case 4:
              // A hold that comes and goes, on one that may have started.
              let passing = ClosureOperation {}
              do {
                try node.addDependency(passing)
                try passing.start()
              } catch let error as ThreadOperationError {
                if error.reason != .hasStarted { Issue.record("\(error)") }
              } catch {
                Issue.record("\(error)")
              }
            default: SystemYield.now()
            }
          }
          for queue in queues { queue.resume() }
          isDone.store(true, ordering: .releasing)
        default:
          while !isDone.load(ordering: .acquiring) || nodes.contains(where: { !$0.isFinished }) {
            for node in nodes where node.isOpen && node.isThrough.load(ordering: .acquiring) {
              node.finish()
            }
            SystemYield.now()
          }
        }
      }
      for queue in queues {
        #expect(queue.waitForAll(for: .seconds(30)), "\(queue) hangs: \(queue.operations)")
        #expect(queue.operationCount == 0)
      }
      // The model: one after another, in the order in which they were made.
      var model: [UInt64] = []
      for node in nodes {
        let runs = node.runs.load(ordering: .relaxed)
        #expect(node.isFinished)
        #expect(node.ends.load(ordering: .relaxed) == 1)
        #expect(node.early.load(ordering: .relaxed) == 0)
        if runs == 0 { #expect(node.isCancelled) }
        #expect(runs <= 1)
        model.append(
          runs == 0 ? 0 : Node.value(of: node.index, from: node.inputs.map { model[$0.index] }))
        #expect(node.value == model[node.index])
      }
      if !withCancels { #expect(!model.contains(0)) }
      for (gauge, width) in zip(gauges, widths) { #expect(gauge.most <= width) }
      pool.shutDown()
      #expect(pool.threadCount == 0)
    }
    #expect(census.count == 0)
  }
}
