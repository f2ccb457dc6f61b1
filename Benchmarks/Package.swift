// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that Daybook itself depends on nothing: the other engines come from the system.
// Debian: apt-get install liblmdb-dev libsqlite3-dev
let package = Package(
  name: "DaybookBenchmarks",
  platforms: [.macOS(.v15)],
  products: [.executable(name: "daybook-bench", targets: ["DaybookBench"])],
  dependencies: [.package(name: "Daybook", path: "..")],
  targets: [
    .systemLibrary(name: "CLMDB", pkgConfig: "lmdb", providers: [.apt(["liblmdb-dev"]), .brew(["lmdb"])]),
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),
    .executableTarget(
      name: "DaybookBench",
      dependencies: [
        .product(name: "Daybook", package: "Daybook"), .product(name: "DaybookTesting", package: "Daybook"), "CLMDB",
        "CSQLite",
      ],
      // Strict memory safety stays off: two thirds of this package speaks to C.
      swiftSettings: [.treatAllWarnings(as: .error)]),
  ]
)
