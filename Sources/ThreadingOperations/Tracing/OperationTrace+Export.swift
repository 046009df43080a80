internal import ThreadingPlatform

extension OperationTrace {
  /// The records as a trace in Chrome's JSON form, for viewers such as Perfetto or `chrome://tracing`: a slice
  /// for each `main()` on its thread, with queue and wait among its arguments; a span for the further course of
  /// an asynchronous operation; an arrow from the end of each dependency to the start of what waited for it.
  ///
  /// Times are in microseconds since the first operation was added.
  ///
  /// - Returns: the JSON text.
  /// - Complexity: O(n).
  public func chromeTrace() -> String {
    let records = self.records
    let process = SystemThread.processID
    let zero = records.map(\.added).min() ?? .now
    func time(_ moment: MonotonicInstant) -> String { Self.microseconds(zero.duration(to: moment)) }
    var events: [String] = []
    var threads: [UInt32: String] = [:]
    var byNumber: [Int: Record] = [:]
    for record in records {
      byNumber[record.number] = record
      threads[record.thread] = record.threadName
    }
    for (thread, name) in threads.sorted(by: { $0.key < $1.key }) {
      events.append(
        "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":\(process),\"tid\":\(thread),"
          + "\"args\":{\"name\":\(Self.quoted(name))}}")
    }
    for record in records {
      let place = "\"pid\":\(process),\"tid\":\(record.thread)"
      let name = "\"name\":\(Self.quoted(record.name)),\"cat\":\"operation\""
      events.append(
        "{\"ph\":\"X\",\(name),\(place),\"ts\":\(time(record.started)),"
          + "\"dur\":\(Self.microseconds(record.started.duration(to: record.returned))),"
          + "\"args\":{\"number\":\(record.number),\"queue\":\(Self.quoted(record.queue)),"
          + "\"waited_us\":\(Self.microseconds(record.waited)),"
          + "\"skipped\":\(record.wasSkipped),\"failed\":\(record.hasFailed)}}")
      if record.wentOn {
        let span = "\(name),\(place),\"id\":\(record.number)"
        events.append("{\"ph\":\"b\",\(span),\"ts\":\(time(record.returned))}")
        events.append("{\"ph\":\"e\",\(span),\"ts\":\(time(record.ended))}")
      }
      for case let dependency? in record.dependencies.map({ byNumber[$0] }) {
        let arrow =
          "\"name\":\"dependency\",\"cat\":\"dependency\","
          + "\"id\":\"\(dependency.number)-\(record.number)\",\"pid\":\(process)"
        // From inside the slice that ends there: an arrow hangs on the slice at its time.
        events.append(
          "{\"ph\":\"s\",\(arrow),\"tid\":\(dependency.thread),"
            + "\"ts\":\(time(dependency.returned))}")
        events.append(
          "{\"ph\":\"f\",\"bp\":\"e\",\(arrow),\"tid\":\(record.thread),"
            + "\"ts\":\(time(record.started))}")
      }
    }
    return "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
      + events.joined(separator: ",\n") + "\n]}\n"
  }

  /// The records as a graph in the DOT language of Graphviz: a node for each operation, with its name, queue and
  /// run time, and an edge from each dependency to what waited for it. Cancelled ones are dashed, failed ones red.
  ///
  /// - Returns: the text.
  /// - Complexity: O(n).
  public func dependencyGraph() -> String {
    let records = self.records.sorted { $0.number < $1.number }
    let known = Set(records.map(\.number))
    var lines = ["digraph operations {", "  node [shape=box];"]
    for record in records {
      let run = Self.microseconds(record.started.duration(to: record.ended))
      let text = Self.escaped(record.name) + "\\n" + Self.escaped(record.queue) + ": \(run) us"
      var style = ""
      if record.wasSkipped { style += ", style=dashed" }
      if record.hasFailed { style += ", color=red" }
      lines.append("  n\(record.number) [label=\"\(text)\"\(style)];")
    }
    for record in records {
      for dependency in record.dependencies where known.contains(dependency) {
        lines.append("  n\(dependency) -> n\(record.number);")
      }
    }
    return lines.joined(separator: "\n") + "\n}\n"
  }

  /// Microseconds with three digits after the point.
  static func microseconds(_ duration: Duration) -> String {
    let parts = duration.components
    let nanoseconds = max(0, parts.seconds * 1_000_000_000 + parts.attoseconds / 1_000_000_000)
    let rest = String(nanoseconds % 1_000)
    return "\(nanoseconds / 1_000)." + String(repeating: "0", count: 3 - rest.count) + rest
  }

  /// A string of JSON.
  static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case _ where scalar.value < 0x20:
        let digits = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }

  /// The inside of a quoted string of DOT.
  static func escaped(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case _ where scalar.value < 0x20: result += " "
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}
