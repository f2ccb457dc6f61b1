import Daybook
import Foundation
import Testing

@testable import DaybookTool

@Suite("map and report")
struct MapTests {
  private let bench: Workbench
  private let file: String

  init() throws {
    bench = try Workbench()
    file = bench.path("a.daybook")
    try bench.good("import", file, try bench.write(CitiesExtract.csv, to: "c.csv"), "--zone", "A & <B>", "--type", "City")
  }

  private func number(_ value: JSONValue?) -> Int {
    if case .int(let number)? = value { Int(number) } else { -1 }
  }

  private func list(_ value: JSONValue?) -> [JSONValue] {
    if case .array(let list)? = value { list } else { [] }
  }

  @Test("each byte of the file is on the map once, and as many live as info says")
  func wholeFile() throws {
    let map = try json(bench.good("map", file, "--json").output)
    let frames = list(try json(bench.good("log", file, "--json").output))
    let size = try #require(
      try FileManager.default.attributesOfItem(atPath: file)[.size] as? NSNumber)
    #expect(number(map["fileByteCount"]) == size.intValue)
    #expect(list(map["kinds"]).reduce(0) { $0 + number($1["byteCount"]) } == size.intValue)
    let blocks = list(map["blocks"])
    #expect(blocks.count > 1 && blocks.count <= MapDrawing.blockLimit)
    var total = 0
    for block in blocks {
      guard case .object(let members)? = block["byteCounts"] else { throw ToolError.usage("no counts") }
      total += members.reduce(0) { $0 + number($1.value) }
    }
    #expect(total == size.intValue)
    let info = try json(bench.good("info", file, "--json").output)
    #expect(blocks.reduce(0) { $0 + number($1["liveByteCount"]) } == number(info["liveByteCount"]))
    // What is changed leaves dead bytes. The new pages are in memory alone so far.
    for year in 1...3 { try bench.good("put", file, "A & <B>", "x", "--type", "City", "year=\(year)") }
    let later = try json(bench.good("map", file, "--json").output)
    let live = list(later["blocks"]).reduce(0) { $0 + number($1["liveByteCount"]) }
    #expect(live > number(info["liveByteCount"]) / 2 && live < number(later["fileByteCount"]))
    try bench.good("compact", file)
    let compacted = try json(bench.good("map", file, "--json").output)
    let all = list(compacted["blocks"]).reduce(0) { $0 + number($1["liveByteCount"]) }
    #expect(try all == number(json(bench.good("info", file, "--json").output)["liveByteCount"]))
    #expect(list(map["kinds"]).reduce(0) { $0 + number($1["frameCount"]) } == frames.count)
    let table = try bench.good("map", file).output
    #expect(table.contains("KIND") && table.contains("commit") && table.contains("of it live"))
  }

  @Test("a map is drawn as XML, and to standard output alone")
  func drawing() throws {
    let path = bench.path("map.svg")
    let outcome = try bench.good("map", file, "-o", path)
    #expect(outcome.output.contains("KIND") && outcome.errors.contains("drew a map"))
    let svg = try String(contentsOfFile: path, encoding: .utf8)
    #expect(svg.hasPrefix("<svg") && svg.hasSuffix("</svg>\n") && svg.contains("pages of trees") && svg.contains("% live"))
    #expect(try bench.good("map", file, "-o", "-").output == svg)
    #expect(bench.run("map", file, "-o", file).status == 2)
    #expect(try bench.good("check", file).output.hasPrefix("clean:"))
  }

  @Test("of a damaged file the map shows what cannot be read, and says so")
  func damaged() throws {
    // The header of a commit.
    let frames = list(try json(bench.good("log", file, "--json").output))
    let offset = number(try #require(frames.first { $0["kind"] == "commit" })["offset"])
    var bytes = Array(try Data(contentsOf: URL(fileURLWithPath: file)))
    bytes[offset + 8] ^= 0xFF
    let damaged = try bench.write(bytes, to: "damaged.daybook")
    let outcome = bench.run("map", damaged)
    #expect(outcome.status == 3 && outcome.output.contains("unreadable"), "\(outcome.output) \(outcome.errors)")
    #expect(bench.run("report", damaged, "-o", bench.path("r.html")).status == 3)
    // A record's body: the rest of the page is written.
    var sound = Array(try Data(contentsOf: URL(fileURLWithPath: file)))
    let position = try #require(sound.firstRange(of: Array("El Tarter".utf8))).lowerBound
    sound[position] ^= 1
    let rotten = bench.run("report", try bench.write(sound, to: "rotten.daybook"), "--records", "510")
    #expect(rotten.status == 3 && rotten.output.contains("The last commits") && rotten.output.hasSuffix("</html>\n"))
  }

  @Test("a new database, one beside its writer and one that was not closed have maps and reports")
  func states() throws {
    let path = bench.path("new.daybook")
    let database = try Database.open(at: path)
    for command in ["map", "report"] { try bench.good(command, path) }
    try database.save(Record(type: "T", id: Record.ID("n")))
    for command in ["map", "report"] { try bench.good(command, path) }
    let copy = try bench.write(Array(try Data(contentsOf: URL(fileURLWithPath: path))), to: "killed.daybook")
    try database.close()
    for command in ["map", "report"] { try bench.good(command, copy) }
    // Each batch of commits begins on a sector of its own.
    let padded = bench.path("padded.daybook")
    var options = Database.Options()
    options.padding = true
    let other = try Database.open(at: padded, options: options)
    for name in 0..<20 { try other.save(Record(type: "T", id: Record.ID("n\(name)"))) }
    try other.close()
    for command in ["map", "report"] { try bench.good(command, padded) }
  }

  @Test("a report is one page that loads nothing, and has names only as text")
  func report() throws {
    try bench.good("put", file, "A & <B>", "!<script>alert(1)</script>", "--type", "City", "year=1")
    try bench.good("index", file, "City", "name")
    let path = bench.path("r.html")
    let outcome = try bench.good("report", file, "-o", path, "--records", "510")
    #expect(outcome.output.isEmpty && outcome.errors.contains("wrote a report"))
    let html = try String(contentsOfFile: path, encoding: .utf8)
    #expect(html.hasPrefix("<!DOCTYPE html>") && html.hasSuffix("</html>\n"))
    for part in [
      "Zones and types", "Fields", "Indexes", "Records of A &amp; &lt;B&gt;", "The trees", "The last commits",
      "!&lt;script&gt;",
    ] { #expect(html.contains(part), "\(part)") }
    #expect(!html.contains("<script") && !html.replacing("http://www.w3.org/2000/svg", with: "").contains("http://"))
    let short = try bench.good("report", file, "--records", "3").output
    #expect(short.hasPrefix("<!DOCTYPE html>") && short.contains("the first 3 of 506, by name"))
  }
}
