import Foundation
import TestSupport
import Testing
import ThreadingFoundation

/// That the trace is JSON is proved by Foundation's parser.
@Suite("Chrome traces", .endsInTime)
struct ChromeTraceTests {
  private func events(_ trace: OperationTrace) throws -> [[String: Any]] {
    let parsed = try JSONSerialization.jsonObject(with: Data(trace.chromeTrace().utf8))
    let root = try #require(parsed as? [String: Any])
    return try #require(root["traceEvents"] as? [[String: Any]])
  }

  @Test("An empty trace is valid")
  func empty() throws {
    let trace = OperationTrace()
    #expect(try events(trace).isEmpty)
    #expect(trace.dependencyGraph().hasPrefix("digraph"))
  }

  @Test("Names with quotes, control characters and other scripts come through")
  func names() throws {
    let names = [
      "say \"hi\"", "back\\slash", "tab\tline\nend\u{0}\u{1F}", "Grüße 🧵", "</script>", "",
    ]
    let trace = OperationTrace()
    let queue = ThreadOperationQueue(name: "a \"queue\"\n", width: 1)
    queue.trace = trace
    for name in names { try queue.add(ClosureOperation(name: name) {}) }
    queue.waitForAll()
    let slices = try events(trace).filter { $0["ph"] as? String == "X" }
    #expect(slices.map { $0["name"] as? String } == names)
    for slice in slices {
      let arguments = try #require(slice["args"] as? [String: Any])
      #expect(arguments["queue"] as? String == "a \"queue\"\n")
    }
    let graph = trace.dependencyGraph()
    #expect(graph.contains("say \\\"hi\\\""))
    #expect(graph.contains("back\\\\slash"))
    #expect(graph.contains("tab line\\nend"))
    // One line for each node.
    #expect(graph.split(separator: "\n").count == names.count + 3)
  }

  @Test("Slices lie on their threads in the order of the dependencies, with arrows between")
  func course() throws {
    let trace = OperationTrace()
    let first = ClosureOperation(name: "first") {}
    let second = ClosureOperation(name: "second") { throw CocoaError(.fileNoSuchFile) }
    let third = ClosureOperation(name: "third") {}
    try second.addDependency(first)
    try third.addDependency(second)
    let left = ThreadOperationQueue(name: "left", width: 1)
    let right = ThreadOperationQueue(name: "right", width: 1)
    for queue in [left, right] { queue.trace = trace }
    try right.add(second)
    try left.add(contentsOf: [third, first])
    third.wait()
    let records = trace.records
    #expect(records.map(\.name) == ["first", "second", "third"])
    #expect(records.map(\.queue) == ["left", "right", "left"])
    #expect(records.map(\.hasFailed) == [false, true, false])
    #expect(records[0].dependencies == [])
    #expect(records[1].dependencies == [records[0].number])
    #expect(records[2].dependencies == [records[1].number])
    for record in records {
      #expect(record.added <= record.started)
      #expect(record.started <= record.returned)
      #expect(record.returned <= record.ended)
      #expect(!record.wentOn && !record.wasSkipped)
      #expect(record.thread != 0)
      #expect(record.waited >= .zero)
    }
    #expect(records[0].ended <= records[1].started)
    #expect(records[1].ended <= records[2].started)
    let all = try events(trace)
    func of(_ phase: String) -> [[String: Any]] { all.filter { $0["ph"] as? String == phase } }
    #expect(of("X").count == 3)
    #expect(of("s").count == 2)
    #expect(of("s").map { $0["id"] as? String } == of("f").map { $0["id"] as? String })
    #expect(!of("M").isEmpty)
    #expect(of("b").isEmpty)
    for slice in of("X") {
      #expect((slice["dur"] as? Double ?? -1) >= 0)
      #expect((slice["ts"] as? Double ?? -1) >= 0)
    }
    let graph = trace.dependencyGraph()
    #expect(graph.contains("n\(records[0].number) -> n\(records[1].number);"))
    #expect(graph.contains("n\(records[1].number) -> n\(records[2].number);"))
    #expect(graph.contains("color=red"))
  }

  private final class Later: ThreadOperation, @unchecked Sendable {
    override var isAsynchronous: Bool { true }
    override func main() {}
  }

  @Test("Asynchronous and cancelled operations are marked; a trace can be full and cleared")
  func otherEnds() throws {
    let trace = OperationTrace(capacity: 2)
    let queue = ThreadOperationQueue(width: 2)
    queue.trace = trace
    #expect(queue.trace === trace)
    let later = Later()
    try queue.add(later)
    #expect(eventually { later.isExecuting })
    let cancelled = ClosureOperation {}
    cancelled.cancel()
    try queue.add(cancelled)
    cancelled.wait()
    #expect(trace.records.map(\.wasSkipped) == [true])
    while !later.finish() {}
    queue.waitForAll()
    #expect(trace.records.map(\.wentOn) == [false, true])
    let all = try events(trace)
    #expect(all.count { $0["ph"] as? String == "b" } == 1)
    #expect(all.count { $0["ph"] as? String == "e" } == 1)
    #expect(trace.dependencyGraph().contains("style=dashed"))
    try queue.add {}.wait()
    #expect(trace.records.count == 2)
    #expect(trace.droppedCount == 1)
    trace.clear()
    #expect(trace.records.isEmpty && trace.droppedCount == 0)
    queue.trace = nil
    try queue.add {}.wait()
    #expect(trace.records.isEmpty)
  }

  @Test("A refused operation leaves nothing behind, and many threads may record")
  func manyThreads() throws {
    let trace = OperationTrace()
    let queue = ThreadOperationQueue(width: 2)
    queue.trace = trace
    let used = ClosureOperation {}
    try used.start()
    #expect(throws: ThreadOperationError.self) { try queue.add(used) }
    #expect(throws: ThreadOperationError.self) {
      try queue.add(contentsOf: [ClosureOperation {}, used])
    }
    try concurrently(3) { _ in
      do {
        for _ in 0..<300 { try queue.add {} }
      } catch {
        Issue.record("\(error)")
      }
    }
    queue.waitForAll()
    #expect(trace.records.count == 900)
    #expect(Set(trace.records.map(\.number)).count == 900)
    #expect(try events(trace).count { $0["ph"] as? String == "X" } == 900)
  }
}
