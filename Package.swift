// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
  .strictMemorySafety(),
  .treatAllWarnings(as: .error),
]

let package = Package(
  name: "Daybook",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [
    .library(name: "Daybook", targets: ["Daybook"]),
    .library(name: "DaybookTesting", targets: ["DaybookTesting"]),
    .executable(name: "daybook", targets: ["DaybookCommand"]),
  ],
  targets: [
    .target(name: "DaybookEngine", swiftSettings: settings),
    .target(name: "Daybook", dependencies: ["DaybookEngine"], swiftSettings: settings),
    .target(
      name: "DaybookTesting", dependencies: ["Daybook", "DaybookEngine", "DaybookTool"], swiftSettings: settings),
    .target(
      name: "DaybookTool", dependencies: ["Daybook", "DaybookEngine"], swiftSettings: settings),
    .executableTarget(name: "DaybookCommand", dependencies: ["DaybookTool"], swiftSettings: settings),
    // The long crash runs of Scripts/crash.sh; not a product.
    .executableTarget(name: "DaybookCrash", dependencies: ["DaybookTesting"], swiftSettings: settings),
    // What Scripts/guard.sh counts; not a product.
    .executableTarget(
      name: "DaybookGuard", dependencies: ["Daybook", "DaybookEngine", "DaybookTesting"], swiftSettings: settings),
    .testTarget(
      name: "DaybookEngineTests", dependencies: ["DaybookEngine", "DaybookTesting"],
      swiftSettings: settings),
    .testTarget(
      name: "DaybookTests", dependencies: ["Daybook", "DaybookEngine", "DaybookTesting"],
      exclude: ["Fixtures"], swiftSettings: settings),
    .testTarget(
      name: "DaybookToolTests", dependencies: ["DaybookTool", "DaybookCommand", "Daybook"], swiftSettings: settings),
  ]
)
