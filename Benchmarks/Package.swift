// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that Daybook itself depends on nothing: the other engines come from the system.
// Scripts/peers.sh installs them.
let package = Package(
  name: "DaybookBenchmarks",
  platforms: [.macOS(.v15)],
  products: [.executable(name: "daybook-bench", targets: ["DaybookBench"])],
  dependencies: [.package(name: "Daybook", path: "..")],
  targets: [
    .systemLibrary(name: "CLMDB", pkgConfig: "lmdb", providers: [.apt(["liblmdb-dev"]), .brew(["lmdb"])]),
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),
    // No pkg-config: Debian's file for RocksDB asks for the parts of a static library, LevelDB has none.
    .systemLibrary(name: "CRocksDB", providers: [.apt(["librocksdb-dev"]), .brew(["rocksdb"])]),
    .systemLibrary(name: "CLevelDB", providers: [.apt(["libleveldb-dev"]), .brew(["leveldb"])]),
    .executableTarget(
      name: "DaybookBench",
      dependencies: [
        .product(name: "Daybook", package: "Daybook"), .product(name: "DaybookTesting", package: "Daybook"),
        .product(name: "DaybookBenchmarking", package: "Daybook"), .product(name: "DaybookCoding", package: "Daybook"), "CLMDB",
        "CSQLite", "CRocksDB", "CLevelDB",
      ],
      // Strict memory safety stays off: two thirds of this package speaks to C.
      swiftSettings: [.treatAllWarnings(as: .error)]),
  ]
)
