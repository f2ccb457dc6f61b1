import Daybook
import Foundation
import Testing

@testable import DaybookTool

@Suite("the commands sync, outbox and quarantine")
struct SyncCommandTests {
  private let bench: Workbench
  private let here: String
  private let there: String

  init() throws {
    bench = try Workbench()
    here = bench.path("here.daybook")
    there = bench.path("there.daybook")
    try bench.good("put", here, "Library", "dune", "--type", "Movie", "title=Dune", "year=2021")
    try bench.good("put", here, "Library", "alien", "--type", "Movie", "title=Alien")
  }

  private func dump(_ path: String) throws -> String { try bench.good("dump", path).output }

  @Test("a REMOTE that is missing is made, and equal databases have equal dumps")
  func first() throws {
    let outcome = try bench.good("sync", here, there)
    #expect(outcome.output == "2 records sent, 0 fetched, 0 conflicts resolved\n")
    #expect(outcome.errors == "made \(there)\n")
    #expect(try dump(here) == dump(there))
    try bench.good("put", there, "Library", "heat", "--type", "Movie", "title=Heat")
    try bench.good("put", here, "Library", "dune", "year=1984")
    try bench.good("delete", there, "Library", "alien")
    let json = try bench.good("sync", here, there, "--json").output
    #expect(json == "{\"sent\":1,\"fetched\":2,\"conflicts\":0,\"quarantined\":0}\n")
    #expect(try dump(here) == dump(there))
    #expect(try bench.good("sync", here, there).output == "0 records sent, 0 fetched, 0 conflicts resolved\n")
    for path in [here, there] { try bench.good("check", path, "--deep") }
  }

  @Test("--policy says who wins, and what only one side changed stays", arguments: ["latest", "server", "client"])
  func policy(_ policy: String) throws {
    try bench.good("sync", here, there)
    try bench.good("put", here, "Library", "dune", "title=here", "rating=1")
    try bench.good("put", there, "Library", "dune", "title=there", "year=1984")
    #expect(try bench.good("sync", here, there, "--policy", policy, "--json").output.contains("\"conflicts\":1"))
    let dune = try #require(try bench.records(there)["dune"])
    #expect(dune["title"] == (policy == "client" ? "here" : "there") && dune["rating"] == 1 && dune["year"] == 1984)
    #expect(try dump(here) == dump(there))
  }

  @Test("outbox lists what the next sync sends, and --zone syncs one zone")
  func outbox() throws {
    #expect(try bench.good("outbox", here).output.split(separator: "\n").count == 1, "never synced")
    try bench.good("sync", here, there)
    #expect(try bench.good("outbox", here, "--json").output == "[]\n")
    try bench.good("put", here, "Library", "dune", "year=1984")
    try bench.good("delete", here, "Library", "alien")
    try bench.good("put", here, "Other", "note", "--type", "Note", "text=x")
    let lines = try bench.good("outbox", here).lines
    #expect(lines.count == 4 && lines.contains { $0.hasPrefix("save") && $0.contains("dune") }, "\(lines)")
    #expect(lines.contains { $0.hasPrefix("save") && $0.contains("Note") }, "of a zone that was made since")
    #expect(lines.contains { $0.hasPrefix("delete") && $0.contains("Movie") && $0.contains("alien") })
    #expect(try bench.good("outbox", here, "--limit", "1").lines.count == 2)
    try bench.good("sync", here, there, "--zone", "Library")
    #expect(try bench.records(there, zone: "Other").isEmpty && bench.records(there)["dune"]?["year"] == 1984)
    try bench.good("sync", here, there)
    #expect(try dump(here) == dump(there))
    let unknown = bench.run("sync", here, there, "--zone", "Nowhere")
    #expect(unknown.status == 2 && unknown.errors.contains("Nowhere"))
  }

  @Test("what one side refuses is in quarantine, with the reason, and the status is 1")
  func quarantine() throws {
    try bench.good("sync", here, there)
    #expect(try bench.good("quarantine", here).lines.count == 1)
    // One name, two types: neither side can have both.
    try bench.good("put", here, "Library", "twin", "--type", "Movie", "title=here")
    try bench.good("put", there, "Library", "twin", "--type", "Person", "name=there")
    try bench.good("put", here, "Library", "other", "--type", "Movie", "title=goes on")
    let outcome = bench.run("sync", here, there)
    #expect(outcome.status == 1 && outcome.errors.contains("`daybook quarantine \(here)`"), "\(outcome.errors)")
    let listed = bench.run("quarantine", here)
    #expect(listed.status == 1 && listed.output.contains("twin") && listed.output.contains("invalidArguments"))
    #expect(bench.run("quarantine", here, "--json").output.contains("\"name\":\"twin\""))
    #expect(try bench.records(there)["other"]?["title"] == "goes on")
  }

  @Test("a missing LOCAL, one file twice and a file that is no database are refused, and nothing is made")
  func refused() throws {
    #expect(bench.run("sync", bench.path("none.daybook"), there).status == 5)
    #expect(!FileManager.default.fileExists(atPath: there))
    #expect(bench.run("sync", here, here).status == 2)
    try FileManager.default.createSymbolicLink(atPath: bench.path("link.daybook"), withDestinationPath: here)
    #expect(bench.run("sync", here, bench.path("link.daybook")).status == 2)
    let text = try bench.write("no database, but long enough to be one: \(String(repeating: "x", count: 5000))", to: "text")
    #expect(bench.run("sync", here, text).status != 0)
    #expect(try String(contentsOfFile: text, encoding: .utf8).hasPrefix("no database"))
    #expect(bench.run("sync", here).status == 2)
    #expect(bench.run("sync", here, there, "--policy", "none").status == 2)
  }

  @Test("assets and encrypted values come along, of any size")
  func assets() throws {
    let database = try Database.open(at: here)
    let id = try Record.ID("dune", in: try Zone.ID("Library"))
    try database.update(id) { record in
      record["poster"] = Asset(data: Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }))
      record["icon"] = Asset(data: Data([1, 2, 3]))
      record.encryptedValues["secret"] = "hidden"
    }
    try database.close()
    try bench.good("sync", here, there)
    #expect(try dump(here) == dump(there))
    try bench.good("check", there, "--deep")
    let copy = try Database.open(at: there)
    let dune = try #require(try copy.record(id))
    #expect((dune["poster"] as Asset?).map { try? $0.content().count } == 200_000)
    #expect(dune.encryptedValues["secret"] == "hidden")
    try copy.close()
  }
}
