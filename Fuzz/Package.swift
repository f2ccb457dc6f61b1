// swift-tools-version: 6.2
import PackageDescription

// A package of its own: its program has libFuzzer's main function, and is built with coverage (run.sh knows how).
let package = Package(
  name: "DaybookFuzz",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "Daybook", path: "..")],
  targets: [
    .executableTarget(
      name: "Fuzz", dependencies: [.product(name: "DaybookFuzzing", package: "Daybook")],
      swiftSettings: [.strictMemorySafety(), .treatAllWarnings(as: .error)])
  ]
)
