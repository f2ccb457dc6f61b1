// swift-tools-version: 6.2
import PackageDescription

// A package of its own: its programs have libFuzzer's main function, and are built with coverage (run.sh knows how).
// One program a target, because a program has one LLVMFuzzerTestOneInput.
let targets = ["Open", "Page", "Frame", "Body", "Value", "Token", "Csv", "Json", "Predicate", "Operations"]

let package = Package(
  name: "DaybookFuzz",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "Daybook", path: "..")],
  targets: targets.map { name in
    .executableTarget(
      name: "Fuzz\(name)", dependencies: [.product(name: "DaybookFuzzing", package: "Daybook")],
      swiftSettings: [.strictMemorySafety(), .treatAllWarnings(as: .error)])
  }
)
