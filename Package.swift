// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
  .strictMemorySafety(),
  .treatAllWarnings(as: .error),
]

let package = Package(
  name: "Daybook",
  // No watchOS: most watches have 32-bit pointers, and the engine needs 64.
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .visionOS(.v2)],
  products: [
    .library(name: "Daybook", targets: ["Daybook"]),
    .library(name: "DaybookCoding", targets: ["DaybookCoding"]),
    .library(name: "DaybookCompatibility", targets: ["DaybookCompatibility"]),
    .library(name: "DaybookSync", targets: ["DaybookSync"]),
    .library(name: "DaybookTesting", targets: ["DaybookTesting"]),
    // What the programs of Fuzz/ link; of no use to anybody else.
    .library(name: "DaybookFuzzing", targets: ["DaybookFuzzing"]),
    // What Benchmarks/ measures without records; of no use to anybody else.
    .library(name: "DaybookBenchmarking", targets: ["DaybookBenchmarking"]),
    .executable(name: "daybook", targets: ["DaybookCommand"]),
  ],
  targets: [
    .target(name: "DaybookEngine", swiftSettings: settings),
    .target(name: "Daybook", dependencies: ["DaybookEngine"], exclude: ["README.md"], swiftSettings: settings),
    .target(name: "DaybookCoding", dependencies: ["Daybook"], exclude: ["README.md"], swiftSettings: settings),
    .target(
      name: "DaybookCompatibility", dependencies: ["Daybook", "DaybookCoding", "DaybookEngine"], exclude: ["README.md"],
      swiftSettings: settings),
    .target(name: "DaybookSync", dependencies: ["Daybook", "DaybookEngine"], exclude: ["README.md"], swiftSettings: settings),
    .target(
      name: "DaybookTesting", dependencies: ["Daybook", "DaybookEngine"], exclude: ["README.md"],
      swiftSettings: settings),
    .target(name: "DaybookBenchmarking", dependencies: ["DaybookEngine"], swiftSettings: settings),
    .target(
      name: "DaybookFuzzing", dependencies: ["DaybookEngine", "DaybookTesting", "DaybookTool"], swiftSettings: settings),
    .target(
      name: "DaybookTool", dependencies: ["Daybook", "DaybookEngine", "DaybookSync"], swiftSettings: settings),
    .executableTarget(name: "DaybookCommand", dependencies: ["DaybookTool"], swiftSettings: settings),
    // The long crash runs of Scripts/crash.sh; not a product.
    .executableTarget(name: "DaybookCrash", dependencies: ["DaybookTesting"], swiftSettings: settings),
    // What Scripts/guard.sh counts; not a product.
    .executableTarget(
      name: "DaybookGuard", dependencies: ["Daybook", "DaybookCoding", "DaybookEngine", "DaybookTesting"],
      swiftSettings: settings),
    .testTarget(
      name: "DaybookEngineTests", dependencies: ["DaybookEngine", "DaybookTesting", "DaybookBenchmarking"],
      swiftSettings: settings),
    .testTarget(
      name: "DaybookTests", dependencies: ["Daybook", "DaybookEngine", "DaybookTesting", "DaybookFuzzing"],
      exclude: ["Fixtures"], swiftSettings: settings),
    // Sees what applications see: it compiles only with what is public.
    .testTarget(
      name: "DaybookTestingTests", dependencies: ["Daybook", "DaybookTesting"], packageAccess: false,
      swiftSettings: settings),
    // Sees what applications see, as the one above it.
    .testTarget(
      name: "DaybookCodingTests", dependencies: ["DaybookCoding", "Daybook", "DaybookMainActorModels"], packageAccess: false,
      swiftSettings: settings),
    // Sees what applications see, as the one above it.
    .testTarget(
      name: "DaybookSyncTests", dependencies: ["DaybookSync", "Daybook", "DaybookTesting"], packageAccess: false,
      swiftSettings: settings),
    // An application's target as Xcode makes them: on the main actor, if nothing else is said.
    .target(
      name: "DaybookMainActorModels", dependencies: ["DaybookCoding", "Daybook"], path: "Tests/DaybookMainActorModels",
      packageAccess: false,
      swiftSettings: settings + [
        .defaultIsolation(MainActor.self), .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
        .enableUpcomingFeature("InferIsolatedConformances"),
      ]),
    // A library with coders of its own, under the names that DaybookCompatibility has, too.
    .target(
      name: "DaybookOtherCoders", dependencies: ["DaybookCompatibility"], path: "Tests/DaybookOtherCoders",
      packageAccess: false, swiftSettings: settings),
    // Code written for CloudKit, as it is out there: the older language mode, and only what is public.
    .testTarget(
      name: "DaybookCompatibilityTests", dependencies: ["DaybookCompatibility", "DaybookOtherCoders", "Daybook"],
      packageAccess: false,
      // A snippet that it compiles word for word has a cast that the compiler warns of.
      swiftSettings: [.strictMemorySafety(), .swiftLanguageMode(.v5)]),
    .testTarget(
      name: "DaybookToolTests", dependencies: ["DaybookTool", "DaybookCommand", "Daybook"], swiftSettings: settings),
  ]
)
