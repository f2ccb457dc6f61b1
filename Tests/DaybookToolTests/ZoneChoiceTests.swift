import Daybook
import Foundation
import Testing

@testable import DaybookTool

// Which zone a name means: names are compared by their bytes, and whose a zone is counts.

@Suite("zones that are named")
struct ZoneChoiceTests {
  private let bench: Workbench
  private let file: String
  private static let composed = "\u{E9}"
  private static let decomposed = "e\u{301}"

  init() throws {
    bench = try Workbench()
    file = bench.path("a.daybook")
  }

  private func zones() throws -> [Zone.ID] {
    var options = Database.Options()
    options.isReadOnly = true
    return try Database.open(at: file, options: options).zones().map(\.id)
  }

  /// Three zones of one name: of this user if `isOwn`, of Adam, and of Zoe.
  private func fill(isOwn: Bool = false) throws {
    let database = try Database.open(at: file)
    try database.write { transaction in
      for owner in [isOwn ? nil : "_eve", "_adam", "_zoe"] where owner != "_eve" {
        let zone = try Zone.ID("Inbox", owner: owner)
        try transaction.save(Zone(zone))
        try transaction.save(Record(type: "Note", id: Record.ID("of" + (owner ?? "_me"), in: zone)))
      }
    }
    try database.close()
  }

  @Test("delete --whole-zone deleted a zone of another spelling than the one that was named")
  func deleteSpelling() throws {
    try bench.good("put", file, Self.decomposed, "r", "--type", "Note")
    let outcome = bench.run("delete", file, Self.composed, "--whole-zone")
    #expect(outcome.status != 0 && !outcome.output.contains("deleted"))
    #expect(try zones().contains(Zone.ID(Self.decomposed)))
    for command in ["get", "history"] { #expect(bench.run(command, file, Self.composed, "r").status == 1, "\(command)") }
  }

  @Test("put wrote into a zone of another spelling, and --zone gave the records of both")
  func putSpelling() throws {
    try bench.good("put", file, Self.decomposed, "old", "--type", "Note")
    try bench.good("put", file, Self.composed, "new", "--type", "Note")
    #expect(try zones().filter { $0 != .default } == [Zone.ID(Self.decomposed), Zone.ID(Self.composed)].sorted())
    for command in [["dump", file], ["query", file, "Note"], ["export", file, "-"]] {
      let lines = bench.run(command + ["--zone", Self.composed]).lines
      #expect(try lines.map { try json($0)["name"]?.text } == ["new"], "\(command)")
    }
    #expect(bench.run("dump", file, "--zone", "E\u{301}").status != 0)
  }

  @Test("of two other owners' zones of one name the first was read, written and deleted, whichever was meant")
  func owners() throws {
    try fill()
    let commands: [[String]] = [
      ["delete", file, "Inbox", "--whole-zone"], ["delete", file, "Inbox", "of_zoe"], ["get", file, "Inbox", "of_zoe"],
      ["put", file, "Inbox", "of_zoe", "n=1"], ["history", file, "Inbox", "of_zoe"], ["changes", file, "Inbox"],
      ["dump", file, "--zone", "Inbox"], ["query", file, "Note", "--zone", "Inbox"], ["types", file, "--zone", "Inbox"],
      ["explain", file, "Note", "--zone", "Inbox"], ["export", file, "-", "--zone", "Inbox"],
      ["watch", file, "--query", "TRUEPREDICATE", "--zone", "Inbox", "--limit", "1"],
    ]
    for command in commands {
      let outcome = bench.run(command)
      #expect(outcome.status == 2, "\(command): \(outcome.errors)")
      #expect(outcome.errors.contains("of _adam, _zoe.") && outcome.errors.contains("--owner"), "\(outcome.errors)")
    }
    #expect(try zones().count == 3)
    // Said whose, it is that one.
    #expect(try bench.good("dump", file, "--zone", "Inbox", "--owner", "_zoe").output.contains("of_zoe"))
    try bench.good("put", file, "Inbox", "of_zoe", "n=1", "--owner", "_zoe")
    #expect(try bench.good("get", file, "Inbox", "of_zoe", "--owner", "_zoe").output.contains("n"))
    #expect(bench.run("get", file, "Inbox", "of_zoe", "--owner", "_adam").status == 1)
    try bench.good("delete", file, "Inbox", "--whole-zone", "--owner", "_adam")
    #expect(try zones().filter { $0 != .default } == [Zone.ID("Inbox", owner: "_zoe")])
    // The only other of that name needs no owner.
    #expect(try bench.good("get", file, "Inbox", "of_zoe").output.contains("n"))
  }

  @Test("a zone of this user is meant before others of its name")
  func ownFirst() throws {
    try fill(isOwn: true)
    for command in [["dump", file, "--zone", "Inbox"], ["dump", file, "--zone", "Inbox", "--owner", "__defaultOwner__"]] {
      #expect(try bench.run(command).lines.map { try json($0)["name"]?.text } == ["of_me"], "\(command)")
    }
    try bench.good("delete", file, "Inbox", "--whole-zone")
    #expect(try zones().filter { $0 != .default }.map(\.owner) == ["_adam", "_zoe"])
    #expect(bench.run("delete", file, "Inbox", "--whole-zone").status == 2, "and not the others after it")
    for command in [["dump", file, "--owner", "_zoe"], ["query", file, "Note", "--owner", "_zoe"]] {
      #expect(bench.run(command).errors.contains("--owner goes with --zone"), "\(command)")
    }
  }
}
