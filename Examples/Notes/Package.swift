// swift-tools-version: 6.2
import PackageDescription

// A notes app without its windows: several devices, a server, a feed. In an application, the path is Daybook's address.
let package = Package(
  name: "Notes",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "Daybook", path: "../..")],
  targets: [
    .target(
      name: "Notes", dependencies: [.product(name: "Daybook", package: "Daybook")],
      swiftSettings: [.treatAllWarnings(as: .error)]),
    .executableTarget(name: "NotesDemo", dependencies: ["Notes"], swiftSettings: [.treatAllWarnings(as: .error)]),
    .testTarget(name: "NotesTests", dependencies: ["Notes"], swiftSettings: [.treatAllWarnings(as: .error)]),
  ]
)
