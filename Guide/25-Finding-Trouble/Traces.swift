import Foundation
import Threading

extension TroubleChapter {
  /// Two files are read, and then something is made of both, all of it recorded.
  static func traceOfThree() throws -> OperationTrace {
    // snippet: trace
    let trace = OperationTrace()
    let queue = ThreadOperationQueue(name: "files", width: 2)
    queue.trace = trace
    let reads = ["left", "right"].map { side in
      ClosureOperation(name: "read \(side)") { LocksChapter.work(.milliseconds(2)) }
    }
    let merge = ClosureOperation(name: "merge") { LocksChapter.work(.milliseconds(1)) }
    for read in reads { try merge.addDependency(read) }
    try queue.add(contentsOf: reads + [merge])
    queue.waitForAll()
    // end
    return trace
  }

  /// Writes a trace into the folder for temporary files.
  ///
  /// - Returns: where it is.
  /// - Throws: `FileError` if it cannot be written.
  static func write(_ trace: OperationTrace) throws(FileError) -> String {
    let path = try TemporaryFolder.kept("trace.json")
    let file = try OutputFile(path: path, replaces: true)
    // snippet: chrome
    try file.write(trace.chromeTrace())
    // end
    try file.finish()
    return path
  }

  /// The names of the slices in a trace's file, as a viewer would find them.
  static func slices(in path: String) throws -> [String] {
    struct File: Decodable {
      struct Event: Decodable {
        var name: String
        var ph: String
      }
      var traceEvents: [Event]
    }
    let data = Data(try InputFile.bytes(of: path))
    return try JSONDecoder().decode(File.self, from: data).traceEvents
      .filter { $0.ph == "X" }.map(\.name)
  }
}
