// swift-tools-version: 6.2
import PackageDescription

// An application's code and its test on a disk that loses power. In an application, the path is Daybook's address.
let package = Package(
  name: "PowerLossTest",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "Daybook", path: "../..")],
  targets: [
    .target(name: "Notes", dependencies: [.product(name: "Daybook", package: "Daybook")]),
    .testTarget(
      name: "NotesTests",
      dependencies: ["Notes", .product(name: "DaybookTesting", package: "Daybook")]),
  ]
)
