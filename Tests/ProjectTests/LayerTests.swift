import Foundation
import TestSupport
import Testing

@Suite("The layers", .endsInTime)
struct LayerTests {
  /// What each layer may import of ours, and of the toolchain.
  private static let allowed: [String: Set<String>] = [
    "ThreadingPlatform": ["CThreadingPlatform", "Glibc", "Synchronization"],
    "ThreadingLocks": ["CThreadingPlatform", "Synchronization", "ThreadingPlatform"],
    "ThreadingThreads": [
      "CThreadingPlatform", "Synchronization", "ThreadingPlatform", "ThreadingLocks",
    ],
    "ThreadingRunLoop": [
      "Synchronization", "ThreadingPlatform", "ThreadingLocks", "ThreadingThreads",
    ],
    "ThreadingOperations": [
      "Synchronization", "ThreadingPlatform", "ThreadingLocks", "ThreadingThreads",
      "ThreadingRunLoop",
    ],
    "Threading": [
      "ThreadingPlatform", "ThreadingLocks", "ThreadingThreads", "ThreadingRunLoop",
      "ThreadingOperations",
    ],
    "ThreadingFoundation": [
      "Foundation", "Synchronization", "Threading", "ThreadingPlatform", "ThreadingLocks",
      "ThreadingThreads",
    ],
  ]

  /// The thin wrappers of POSIX objects name the system's error values and constants.
  private static func mayNameErrors(_ file: String, _ module: String) -> Bool {
    module == "Glibc" && file.hasPrefix("Sources/ThreadingLocks/Posix/")
  }

  @Test("each layer imports only what is below it", arguments: allowed.keys.sorted())
  func imports(layer: String) throws {
    let permitted = try #require(Self.allowed[layer])
    let statement = /^(?:@\w+ )?(?:(?:public|package|internal|private) )?import (?:\w+ )?(\w+)/
    let files = try Repository.swiftFiles(in: "Sources/\(layer)")
    #expect(!files.isEmpty)
    for file in files {
      for line in try Repository.text(file).split(separator: "\n") {
        guard let match = line.firstMatch(of: statement) else { continue }
        let module = String(match.1)
        #expect(permitted.contains(module) || Self.mayNameErrors(file, module), "\(file): \(line)")
      }
    }
  }

  @Test("a programming error has a message in optimised builds: precondition has none there")
  func preconditions() throws {
    for file in try Repository.swiftFiles(in: "Sources") where !file.hasSuffix("/Require.swift") {
      let calls = try Repository.text(file).matches(of: /\b(?:precondition|assert)(?:Failure)?\(/)
      #expect(calls.count == 0, "\(file)")
    }
  }

  @Test("only the platform layer asks which system it runs on")
  func platformConditions() throws {
    for file in try Repository.swiftFiles(in: "Sources")
    where !file.hasPrefix("Sources/ThreadingPlatform/") {
      let text = try Repository.text(file)
      #expect(!text.contains("#if os("), "\(file)")
      #expect(!text.contains("import Glibc") || Self.mayNameErrors(file, "Glibc"), "\(file)")
    }
  }
}
