// swift-tools-version: 6.2
import PackageDescription

/// Every Swift target of the package has strict memory safety on; the checks of the project turn
/// warnings into errors as well.
var swiftSettings: [SwiftSetting] = [.strictMemorySafety()]
if Context.environment["THREADING_WARNINGS_AS_ERRORS"] != nil {
  swiftSettings.append(.treatAllWarnings(as: .error))
}

/// The folders of the guide's chapters. Their texts are no part of the program.
let guideChapters = [
  "01-A-Thread",
  "02-What-A-Thread-Costs",
  "03-Names-And-Priorities",
  "04-Values-Of-A-Thread",
  "05-A-Data-Race",
  "06-Choosing-A-Lock",
  "07-Deadlock",
  "08-Conditions",
  "09-Meeting-Points",
  "10-Atomics",
  "11-The-Run-Loop",
  "12-An-Input-Source",
  "13-Talking",
  "14-Ending-Well",
  "15-Errors",
  "16-Operations",
  "17-Asynchronous",
  "18-Lazy-Table",
  "19-Dependencies",
  "20-Background-Import",
  "21-Drawing",
  "22-Large-Files",
  "23-Which-Way",
  "24-Actors-On-A-Thread",
  "25-Finding-Trouble",
]

let package = Package(
  name: "swift-threading",
  products: [
    .library(name: "Threading", targets: ["Threading"]),
    .library(name: "ThreadingFoundation", targets: ["ThreadingFoundation"]),
    .executable(name: "benchmarks", targets: ["benchmarks"]),
    .executable(name: "thread-cost", targets: ["thread-cost"]),
    .executable(name: "lock-contention", targets: ["lock-contention"]),
    .executable(name: "guide", targets: ["guide"]),
  ],
  targets: [
    // The layers, lowest first. Each imports only those above it in this list.
    .target(name: "CThreadingPlatform"),
    .target(
      name: "ThreadingPlatform", dependencies: ["CThreadingPlatform"],
      swiftSettings: swiftSettings),
    .target(
      name: "ThreadingLocks", dependencies: ["ThreadingPlatform"], swiftSettings: swiftSettings),
    .target(
      name: "ThreadingThreads", dependencies: ["ThreadingLocks", "ThreadingPlatform"],
      swiftSettings: swiftSettings),
    .target(
      name: "ThreadingRunLoop",
      dependencies: ["ThreadingThreads", "ThreadingLocks", "ThreadingPlatform"],
      swiftSettings: swiftSettings),
    .target(
      name: "ThreadingOperations",
      dependencies: [
        "ThreadingRunLoop", "ThreadingThreads", "ThreadingLocks", "ThreadingPlatform",
      ],
      swiftSettings: swiftSettings),
    .target(
      name: "Threading",
      dependencies: [
        "ThreadingPlatform", "ThreadingLocks", "ThreadingThreads", "ThreadingRunLoop",
        "ThreadingOperations",
      ],
      swiftSettings: swiftSettings),
    .target(
      name: "ThreadingFoundation",
      dependencies: ["Threading", "ThreadingThreads", "ThreadingLocks", "ThreadingPlatform"],
      swiftSettings: swiftSettings),

    // What is run.
    .target(
      name: "BenchmarkSupport", dependencies: ["Threading", "ThreadingPlatform"],
      path: "Benchmarks/support", swiftSettings: swiftSettings),
    .executableTarget(
      name: "benchmarks",
      dependencies: [
        "BenchmarkSupport", "Threading", "ThreadingFoundation", "ThreadingPlatform",
        "CThreadingPlatform",
        // Not for their code: it starts them, and they lie beside it.
        "startup-threading", "startup-foundation", "startup-dispatch", "startup-bare",
      ],
      path: "Benchmarks/benchmarks", swiftSettings: swiftSettings),
    .executableTarget(
      name: "thread-cost",
      dependencies: [
        "BenchmarkSupport", "Threading", "ThreadingFoundation", "ThreadingLocks",
        "ThreadingPlatform",
      ],
      path: "Benchmarks/thread-cost", swiftSettings: swiftSettings),
    .executableTarget(
      name: "startup-threading", dependencies: ["Threading"], path: "Benchmarks/startup/threading",
      swiftSettings: swiftSettings),
    .executableTarget(
      name: "startup-foundation", path: "Benchmarks/startup/foundation",
      swiftSettings: swiftSettings),
    .executableTarget(
      name: "startup-dispatch", path: "Benchmarks/startup/dispatch",
      swiftSettings: swiftSettings),
    .executableTarget(
      name: "startup-bare", path: "Benchmarks/startup/bare", swiftSettings: swiftSettings),
    .executableTarget(
      name: "lock-contention",
      dependencies: ["BenchmarkSupport", "Threading", "ThreadingPlatform"],
      path: "Benchmarks/lock-contention", swiftSettings: swiftSettings),
    .executableTarget(
      name: "guide", dependencies: ["Threading", "ThreadingFoundation"], path: "Guide",
      exclude: ["README.md", "COVERAGE.md"] + guideChapters.map { "\($0)/README.md" },
      resources: [.copy("SampleFeed"), .copy("18-Lazy-Table/harbour.rss")],
      swiftSettings: swiftSettings),

    // What proves it.
    .target(
      name: "TestSupport", dependencies: ["ThreadingPlatform"], path: "Tests/TestSupport",
      swiftSettings: swiftSettings),
    // A program of its own, that no test target depends on: its thread-local data would be theirs.
    .target(name: "CThreadLocalBlock", path: "Tests/CThreadLocalBlock"),
    .executableTarget(
      name: "threads-probe", dependencies: ["Threading", "TestSupport", "CThreadLocalBlock"],
      path: "Tests/ThreadsProbe", swiftSettings: swiftSettings),
    .testTarget(
      name: "ThreadingPlatformTests",
      dependencies: ["ThreadingPlatform", "CThreadingPlatform", "TestSupport"],
      swiftSettings: swiftSettings),
    .testTarget(
      name: "ThreadingLocksTests",
      dependencies: ["ThreadingLocks", "ThreadingPlatform", "TestSupport"],
      swiftSettings: swiftSettings),
    .testTarget(
      name: "ThreadingThreadsTests",
      dependencies: ["Threading", "ThreadingThreads", "ThreadingPlatform", "TestSupport"],
      swiftSettings: swiftSettings),
    .testTarget(
      name: "ThreadingRunLoopTests",
      dependencies: ["Threading", "ThreadingRunLoop", "ThreadingPlatform", "TestSupport"],
      swiftSettings: swiftSettings),
    .testTarget(
      name: "ThreadingOperationsTests",
      dependencies: ["Threading", "ThreadingOperations", "ThreadingPlatform", "TestSupport"],
      swiftSettings: swiftSettings),
    .testTarget(
      name: "ThreadingFoundationTests",
      dependencies: ["ThreadingFoundation", "ThreadingPlatform", "TestSupport"],
      swiftSettings: swiftSettings),
    .testTarget(
      name: "BenchmarksTests",
      dependencies: ["BenchmarkSupport", "benchmarks", "thread-cost", "TestSupport"],
      swiftSettings: swiftSettings),
    .testTarget(
      name: "LockContentionTests",
      dependencies: ["BenchmarkSupport", "lock-contention", "TestSupport"],
      swiftSettings: swiftSettings),
    .testTarget(
      name: "ProjectTests", dependencies: ["TestSupport"], swiftSettings: swiftSettings),
    .testTarget(
      name: "GuideTests", dependencies: ["guide", "TestSupport"], swiftSettings: swiftSettings),
  ],
  swiftLanguageModes: [.v6]
)
