import Threading

extension TalkingChapter {
  /// The names of files that were written into a folder while a loop watched it.
  static func namesOfWrittenFiles() throws -> [String] {
    try TemporaryFolder.with { folder in
      try LoopChapter.onLoop { loop in
        let names = Locked<[String]>([])
        // snippet: files
        let source = try FileWatchSource { source, events in
          for event in events where event.kind == .written {
            names.withLock { $0.append(event.name ?? "") }
          }
          if names.withLock({ $0.count == 2 }) { source.cancel() }
        }
        try source.watch(folder, for: .written)
        try loop.add(source)
        // end
        try write("first", in: folder)
        try write("second", in: folder)
        loop.run()
        return names.withLock { $0 }
      }
    }
  }

  private static func write(_ name: String, in folder: String) throws {
    let file = try OutputFile(path: "\(folder)/\(name)")
    try file.write("hello")
    try file.finish()
  }
}
