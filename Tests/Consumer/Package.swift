// swift-tools-version: 6.2
import PackageDescription

// A user's package: it sees of the toolkit only what is public. One program imports everything that
// a file is likely to import beside it, and must build without a qualified name and without a
// warning; the other imports `Threading` alone, and must not load Foundation.
let package = Package(
  name: "Consumer",
  dependencies: [.package(name: "swift-threading", path: "../..")],
  targets: [
    .executableTarget(
      name: "Consumer",
      dependencies: [
        .product(name: "Threading", package: "swift-threading"),
        .product(name: "ThreadingFoundation", package: "swift-threading"),
      ]),
    .executableTarget(
      name: "ConsumerInSwift5",
      dependencies: [.product(name: "Threading", package: "swift-threading")],
      swiftSettings: [.swiftLanguageMode(.v5)]),
    .executableTarget(
      name: "ReadmeExample",
      dependencies: [.product(name: "Threading", package: "swift-threading")]),
    .executableTarget(
      name: "ConsumerWithoutFoundation",
      dependencies: [.product(name: "Threading", package: "swift-threading")]),
  ],
  swiftLanguageModes: [.v6]
)
