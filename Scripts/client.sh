#!/usr/bin/env bash
# N12: a package of somebody else's builds against Daybook, by path and by the address of a git repository, and runs.
#
#     Scripts/client.sh                both, in .build/client; some minutes at first
#     Scripts/client.sh path|address   one of them; by address it is the last commit that is built
#
# CocoaPods and Carthage are not supported: they have no way to say what a package of Swift alone needs.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD

client() { # NAME DEPENDENCY
  local folder=$root/.build/client/$1
  mkdir -p "$folder/Sources/Client"
  cat >"$folder/Package.swift" <<END
// swift-tools-version: 6.2
import PackageDescription
let package = Package(
  name: "Client", platforms: [.macOS(.v15)], dependencies: [$2],
  targets: [
    .executableTarget(
      name: "Client",
      dependencies: [
        .product(name: "Daybook", package: "$3"), .product(name: "DaybookCoding", package: "$3"),
        .product(name: "DaybookCompatibility", package: "$3"),
      ])
  ])
END
  cat >"$folder/Sources/Client/main.swift" <<'END'
import Daybook
import DaybookCoding
import DaybookCompatibility

struct Movie: RecordCodable, Identifiable, Equatable {
  var id: String
  var title: String
}
let database = try Database.inMemory()
let movie = Movie(id: "dune", title: "Dune")
try database.save(movie)
#if canImport(CloudKit)
let title: String? = "Dune" // The names are CloudKit's own here.
#else
let title: String? = try await CKDatabase(database).record(for: CKRecord.ID(recordName: "dune"))["title"]
#endif
print(try database.fetch(Movie.self, "dune") == movie && title == "Dune" ? "the client works" : "the client does not work")
END
  (cd "$folder" && swift run ${CLIENT_OPTIONS:-} Client | grep -x "the client works") && echo "client by $1: done"
}

wanted=${1:-both}
if [ "$wanted" != address ]; then
  client path ".package(name: \"Daybook\", path: \"$root\")" Daybook
fi
if [ "$wanted" != path ]; then
  client address ".package(url: \"file://$root\", revision: \"$(git rev-parse HEAD)\")" "$(basename "$root")"
fi
