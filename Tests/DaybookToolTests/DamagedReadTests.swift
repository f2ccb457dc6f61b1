import Daybook
import Foundation
import Testing

@testable import DaybookTool

/// One record of 600 cannot be read any more, in a file that is otherwise sound.
@Suite("query and export of a damaged database")
struct DamagedReadTests {
  private let bench: Workbench
  private let file: String
  private let damaged: String
  private static let count = 600

  init() throws {
    bench = try Workbench()
    file = bench.path("sound.daybook")
    let rows = (0..<Self.count).map { "n\(1000 + $0),number \($0) of all,\($0 % 7),\(5000 - $0)" }.joined(separator: "\n")
    try bench.good(
      "import", file, try bench.write("name,title,group,down\n\(rows)\n", to: "rows.csv"), "--id", "name", "--type", "Movie",
      "--zone", "Z")
    try bench.good("put", file, "A", "first", "--type", "Movie", "title=another zone", "group=9", "down=1")
    // A compacted file has its commits after it: what is damaged is a record, not the end of the log.
    try bench.good("compact", file)
    var bytes = Array(try Data(contentsOf: URL(fileURLWithPath: file)))
    let word = Array("number 300 of all".utf8)
    let place = try #require(bytes.firstRange(of: word)).lowerBound
    bytes[place + 2] ^= 0xFF
    damaged = try bench.write(bytes, to: "damaged.daybook")
    try #require(bench.run("dump", damaged).lines.count == Self.count)
  }

  @Test("a query of a file with one damaged record printed nothing")
  func query() throws {
    let whole = try bench.good("query", file, "Movie").lines
    let outcome = bench.run("query", damaged, "Movie")
    #expect(outcome.status == 3 && outcome.lines == whole.filter { !$0.contains("number 300 of all") })
    #expect(outcome.lines.count == Self.count)
    #expect(outcome.errors.components(separatedBy: "cannot read Z/n1300").count == 2, "\(outcome.errors)")
    #expect(outcome.errors.contains("daybook check"))
    let some = bench.run("query", damaged, "Movie", "group = 6", "--keys", "down")
    let all = try bench.good("query", file, "Movie", "group = 6", "--keys", "down").lines
    #expect(some.status == 3 && some.lines.count == 84 && !some.output.contains("title"), "\(some.errors)")
    #expect(some.lines == all.filter { !$0.contains("n1300") })
    #expect(bench.run("query", damaged, "Other").output.isEmpty)
  }

  @Test("get of a damaged file said that there is no zone, as if nothing was wrong")
  func absent() throws {
    let small = bench.path("small.daybook")
    for name in ["a", "b", "c"] { try bench.good("put", small, "Library", name, "--type", "Movie", "title=\(name)") }
    try bench.good("compact", small)
    let sound = Array(try Data(contentsOf: URL(fileURLWithPath: small)))
    var isTold = false
    for place in stride(from: 4096, to: sound.count, by: 48) {
      var bytes = sound
      for index in place..<min(place + 4, bytes.count) { bytes[index] ^= 0x5A }
      let broken = try bench.write(bytes, to: "broken.daybook")
      for call in ["get", "history"] {
        let outcome = bench.run(call, broken, "Library", "b")
        #expect(outcome.status == 0 || outcome.status == 3, "\(call), \(place): \(outcome.errors)")
        #expect(!outcome.errors.contains("put and import make"), "\(call), \(place): \(outcome.errors)")
        let sentence = "The file is damaged, and in the part that can be read: There is no zone Library."
        isTold = isTold || outcome.errors.contains(sentence)
      }
      try FileManager.default.removeItem(atPath: broken)
    }
    #expect(isTold)
  }

  @Test("a limit holds in a damaged file, and what lies before the damage is told to be complete")
  func limit() throws {
    let outcome = bench.run("query", damaged, "Movie", "--limit", "3")
    #expect(outcome.lines == (try bench.good("query", file, "Movie", "--limit", "3").lines), "\(outcome.errors)")
    let far = bench.run("query", damaged, "Movie", "--limit", "400")
    #expect(far.status == 3 && far.lines.count == 400 && far.errors.contains("cannot read Z/n1300"))
  }

  @Test("a sorted query of a damaged file keeps its order", arguments: ["down", "-group", "-creationDate", "recordName"])
  func sorted(key: String) throws {
    let whole = try bench.good("query", file, "Movie", "--sort", key).lines.filter { !$0.contains("number 300 of all") }
    let outcome = bench.run("query", damaged, "Movie", "--sort", key)
    #expect(outcome.status == 3 && outcome.lines == whole && outcome.errors.contains("cannot read Z/n1300"))
    #expect(bench.run("query", damaged, "Movie", "--sort", key, "--limit", "5").lines == Array(whole.prefix(5)))
  }

  @Test("a count of a damaged file counts what can be read")
  func counts() throws {
    let outcome = bench.run("query", damaged, "Movie", "down > 0", "--count")
    #expect(outcome.status == 3 && outcome.output == "\(Self.count)\n" && outcome.errors.contains("cannot read Z/n1300"))
    #expect(bench.run("query", damaged, "Movie", "down > 0", "--count", "--limit", "400").output == "400\n")
    #expect(bench.run("query", damaged, "Movie", "down > 0", "--count", "--zone", "A").output == "1\n")
  }

  @Test("an export of a damaged file took the place of an older one that was complete", arguments: ["o.csv", "o.ndjson"])
  func export(name: String) throws {
    let out = bench.path(name)
    try bench.good("export", file, out)
    let whole = try Data(contentsOf: URL(fileURLWithPath: out))
    let outcome = bench.run("export", damaged, out, "--force")
    #expect(outcome.status == 3 && outcome.errors.contains("\(out) stays as it was"), "\(outcome.errors)")
    #expect(try Data(contentsOf: URL(fileURLWithPath: out)) == whole)
    #expect(outcome.errors.components(separatedBy: "cannot read").count == 2, "\(outcome.errors)")
    #expect(!outcome.errors.contains("wrote"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: bench.directory.path).allSatisfy { !$0.hasPrefix(".daybook-") })
    // Where nothing was, what can be read is written.
    let other = bench.path("other-" + name)
    let first = bench.run("export", damaged, other, "--force")
    #expect(first.status == 3 && first.errors.contains("wrote 600 records"))
    #expect(first.errors.components(separatedBy: "cannot read").count == 2, "\(first.errors)")
    #expect(try String(contentsOfFile: other, encoding: .utf8).contains("number 599 of all"))
  }

  @Test("an export of a file that was cut short leaves a complete one, too")
  func exportOfCutFile() throws {
    let out = bench.path("o.ndjson")
    try bench.good("export", file, out)
    let whole = try Data(contentsOf: URL(fileURLWithPath: out))
    let bytes = Array(try Data(contentsOf: URL(fileURLWithPath: file)))
    let cut = try bench.write(Array(bytes[..<(bytes.count * 7 / 10)]), to: "cut.daybook")
    #expect(bench.run("export", cut, out, "--force").status == 3)
    #expect(try Data(contentsOf: URL(fileURLWithPath: out)) == whole)
  }

  @Test("after a damaged page of the names nothing more was printed, though every record could be read")
  func damagedNames() throws {
    let rows = (0..<2500).map { "n\(10_000 + $0),\($0),\(9_000 - $0)" }.joined(separator: "\n")
    let wide = bench.path("wide.daybook")
    let table = try bench.write("name,number,down\n\(rows)\n", to: "wide.csv")
    try bench.good("import", wide, table, "--id", "name", "--type", "Row", "--zone", "Z")
    try bench.good("compact", wide)
    let whole = try bench.good("dump", wide).lines
    let byValue = try bench.good("query", wide, "Row", "number > 10", "--sort", "down", "--keys", "down").lines
    let sound = Array(try Data(contentsOf: URL(fileURLWithPath: wide)))
    var foundCount = 0
    for page in stride(from: 4096, to: sound.count - 4096, by: 4096) where foundCount < 2 {
      var bytes = sound
      bytes[page + 2000] ^= 0xFF
      let broken = try bench.write(bytes, to: "broken.daybook")
      let outcome = bench.run("dump", broken)
      guard outcome.errors.contains("of zone Z") else { continue }
      foundCount += 1
      #expect(outcome.status == 3 && outcome.lines == whole, "\(page): \(outcome.lines.count) lines, \(outcome.errors)")
      #expect(bench.run("query", broken, "Row").lines == whole)
      #expect(bench.run("query", broken, "Row", "number > 10", "--sort", "down", "--keys", "down").lines == byValue)
      #expect(bench.run("query", broken, "Row", "--count").output == "2500\n")
    }
    #expect(foundCount > 0)
  }
}
