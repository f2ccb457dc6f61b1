import Daybook
import Foundation
import Testing

@testable import DaybookTool

// What the tool does with assets: in from files, out to files, listed, collected.

@Suite("commands for assets")
struct AssetCommandTests {
  private let bench: Workbench
  private let file: String

  init() throws {
    bench = try Workbench()
    file = bench.path("a.daybook")
  }

  /// Too large for a record.
  private func large(_ byte: UInt8) -> [UInt8] { [UInt8](repeating: byte, count: 80_000) }

  private func fill() throws {
    _ = try bench.write(large(1), to: "one.bin")
    _ = try bench.write(large(2), to: "two.bin")
    _ = try bench.write("small", to: "small.bin")
    let rows = """
      id,title,poster_file
      a,First,one.bin
      b,Second,\(URL(fileURLWithPath: bench.path("two.bin")).absoluteString)
      c,Third,\(bench.path("one.bin"))
      d,Fourth,
      e,Fifth,small.bin
      """
    let input = try bench.write(rows, to: "films.csv")
    try bench.good("import", file, input, "--zone", "Films", "--type", "Film", "--id", "id", "--asset", "poster=poster_file")
  }

  @Test("a dump's asset was taken through a link that leads out of the directory that --assets names")
  func linkedOut() throws {
    try fill()
    let (dump, out) = (bench.path("dump.ndjson"), bench.path("out"))
    try bench.good("export", file, dump, "--assets", out)
    let names = try FileManager.default.contentsOfDirectory(atPath: out)
    // Not the small one, whose content is in its line.
    let name = try #require(names.first { try Data(contentsOf: URL(fileURLWithPath: out + "/" + $0)).count == 80_000 })
    let (copy, files) = (bench.path("copy.daybook"), FileManager.default)
    // Elsewhere in the directory: taken, also through a link.
    try files.createDirectory(atPath: out + "/inner", withIntermediateDirectories: false)
    try files.moveItem(atPath: out + "/" + name, toPath: out + "/inner/content")
    try files.createSymbolicLink(atPath: out + "/" + name, withDestinationPath: "inner/content")
    try bench.good("import", copy, dump, "--assets", out)
    #expect(try bench.records(copy).count == 5)
    // Out of it: refused, though its content is the one.
    try files.moveItem(atPath: out + "/inner/content", toPath: bench.path("private"))
    try files.removeItem(atPath: out + "/" + name)
    try files.createSymbolicLink(atPath: out + "/" + name, withDestinationPath: "../private")
    let outcome = bench.run("import", bench.path("other.daybook"), dump, "--assets", out)
    #expect(outcome.status != 0 && outcome.errors.contains("leads out of the directory"), "\(outcome.errors)")
    // The directory itself may be a link.
    try files.removeItem(atPath: out + "/" + name)
    try files.moveItem(atPath: bench.path("private"), toPath: out + "/" + name)
    try files.createSymbolicLink(atPath: bench.path("linked"), withDestinationPath: "out")
    try bench.good("import", bench.path("third.daybook"), dump, "--assets", bench.path("linked"))
    // Another content of the same size is none.
    try Data(large(9)).write(to: URL(fileURLWithPath: out + "/" + name))
    #expect(bench.run("import", bench.path("fourth.daybook"), dump, "--assets", out).status != 0)
  }

  @Test("import reads the files that a column names: paths beside the input, absolute ones, file URLs")
  func importing() throws {
    try fill()
    let records = try bench.records(file)
    #expect(records.count == 5 && records["d"]?["poster"] == nil)
    #expect(records.values.allSatisfy { $0["poster_file"] == nil && $0["title"] != nil })
    guard case .asset(let first)? = records["a"]?["poster"], case .asset(let third)? = records["c"]?["poster"],
      case .asset(let small)? = records["e"]?["poster"]
    else { throw ToolError(.finding, "no assets") }
    #expect(first == third && first.byteCount == 80_000 && small.data == Data("small".utf8))
    let list = try bench.good("assets", file, "--json")
    let assets = try json(list.output).elements
    #expect(assets.count == 2)
    #expect(Set(assets.compactMap { $0["state"]?.text }) == ["stored"])
    #expect(assets.compactMap { $0["referenceCount"]?.json }.sorted() == ["1", "2"])
    #expect(try bench.good("info", file, "--json").output.contains("\"assetCount\":2,\"assetByteCount\":160000"))
    #expect(try bench.good("info", file).output.contains("assets    2 in files of their own"))
    #expect(try bench.good("check", file, "--deep").output.hasSuffix("5 records, 2 assets\n"))
    // NDJSON too.
    let lines = try bench.write(#"{"n":1,"file":"two.bin"}"# + "\n" + #"{"n":2,"file":null}"#, to: "more.ndjson")
    try bench.good("import", file, lines, "--zone", "More", "--asset", "poster=file")
    #expect(try bench.good("assets", file).lines.count == 3)
  }

  @Test("a row whose file is missing, a directory or elsewhere is refused with its line, before anything is saved")
  func badRows() throws {
    for (name, word) in [
      ("none.bin", "missing"), (".", "regular"), ("https://example.com/a.bin", "https"), ("ftp://x/y", "ftp"),
    ] {
      let input = try bench.write("id,f\na,\n" + "b,\(name)\n", to: "bad.csv")
      let outcome = bench.run("import", file, input, "--asset", "poster=f")
      #expect(outcome.status != 0 && outcome.errors.contains("line 3"), "\(name): \(outcome.errors)")
      #expect(outcome.errors.contains(word), "\(name): \(outcome.errors)")
      #expect(!FileManager.default.fileExists(atPath: file))
    }
    let input = try bench.write("id,f\na,b\n", to: "bad.csv")
    #expect(bench.run("import", file, input, "--asset", "poster").status == 2)
    #expect(bench.run("import", file, input, "--asset", "poster=g").errors.contains("no row has a column g"))
    #expect(bench.run("import", file, input, "--asset", "a b=f").status != 0)
  }

  @Test("an import takes only files of its own directory and of --assets: its author chooses no others, by links neither")
  func foreignFiles() throws {
    _ = try bench.write("secret", to: "secret.bin")
    let inside = bench.path("inside")
    try FileManager.default.createDirectory(atPath: inside, withIntermediateDirectories: true)
    _ = try bench.write("good", to: "inside/good.bin")
    try FileManager.default.createSymbolicLink(atPath: inside + "/link.bin", withDestinationPath: bench.path("secret.bin"))
    try FileManager.default.createSymbolicLink(atPath: inside + "/own.bin", withDestinationPath: inside + "/good.bin")
    let url = URL(fileURLWithPath: bench.path("secret.bin")).absoluteString
    for name in ["../secret.bin", bench.path("secret.bin"), url, "link.bin", "../inside2/x", "/dev/null"] {
      let input = try bench.write("id,f\na,good.bin\nb,\(name)\n", to: "inside/in.csv")
      let outcome = bench.run("import", file, input, "--asset", "poster=f")
      #expect(outcome.status != 0 && outcome.errors.contains("line 3"), "\(name): \(outcome.errors)")
      #expect(outcome.errors.contains("--assets"), "\(name): \(outcome.errors)")
      #expect(!FileManager.default.fileExists(atPath: file))
    }
    let rows = "id,f\na,good.bin\nb,../secret.bin\nc,own.bin\nd,../inside/good.bin\n"
    let input = try bench.write(rows, to: "inside/in.csv")
    try bench.good("import", file, input, "--asset", "poster=f", "--id", "id", "--assets", bench.path(""))
    #expect(try bench.records(file).count == 4)
  }

  @Test("export writes each content once, and import takes lines and contents back to the same")
  func exporting() throws {
    try fill()
    let (out, directory) = (bench.path("out.ndjson"), bench.path("contents"))
    try bench.good("export", file, out, "--assets", directory)
    let names = try FileManager.default.contentsOfDirectory(atPath: directory)
    #expect(names.count == 3 && names.allSatisfy { $0.count == 64 }, "the small one as well")
    #expect(try Set(names.map { try Data(contentsOf: URL(fileURLWithPath: directory + "/" + $0)).count }) == [5, 80_000])
    let copy = bench.path("copy.daybook")
    let refused = bench.run("import", copy, out)
    #expect(refused.status != 0 && refused.errors.contains("--assets"))
    try bench.good("import", copy, out, "--assets", directory)
    #expect(try bench.good("dump", copy).output == bench.good("dump", file).output)
    #expect(try bench.good("assets", copy).lines.count == 3)
    // A content that changed is not taken for the one that its name says.
    for name in names where try Data(contentsOf: URL(fileURLWithPath: directory + "/" + name)).count == 80_000 {
      try Data(large(9)).write(to: URL(fileURLWithPath: directory + "/" + name))
    }
    #expect(bench.run("import", bench.path("other.daybook"), out, "--assets", directory).status != 0)
  }

  @Test("assets names what is missing or damaged, and collect removes what no record names")
  func collecting() throws {
    try fill()
    try bench.good("delete", file, "Films", "b")
    #expect(try bench.good("assets", file).output.contains("unreferenced"))
    #expect(try bench.good("assets", file, "collect").output.contains("0 assets removed"))
    #expect(try bench.good("assets", file, "collect", "--grace", "0").output.hasPrefix("1 asset removed"))
    let assets = try json(bench.good("assets", file, "--json").output).elements
    let path = try #require(assets.first?["path"]?.text)
    #expect(assets.count == 1)
    try FileManager.default.removeItem(atPath: path)
    let outcome = bench.run("assets", file)
    #expect(outcome.status == 1 && outcome.output.contains("missing"))
    #expect(bench.run("check", file).status == 1)
    let backup = bench.run("backup", file, bench.path("copy.daybook"), "--copy-assets")
    #expect(backup.status == 5 && backup.errors.contains("daybook salvage FILE OUT"), "\(backup.errors)")
    #expect(!FileManager.default.fileExists(atPath: bench.path("copy.daybook")))
    let saved = bench.run("salvage", file, bench.path("saved.daybook"))
    #expect(saved.status == 1 && saved.output.contains("is missing or damaged"))
    let export = bench.run("export", file, bench.path("o.ndjson"), "--assets", bench.path("contents"))
    #expect(export.status == 3 && export.errors.contains("Films"))
    #expect(bench.run("assets", file, "sweep").status == 2)
  }

  @Test("a backup brings the contents along, linked or copied, and verifies", arguments: [true, false])
  func backup(copies: Bool) throws {
    try fill()
    let target = bench.path("copy.daybook")
    let outcome =
      try copies
      ? bench.good("backup", file, target, "--verify", "--copy-assets") : bench.good("backup", file, target, "--verify")
    #expect(outcome.output.hasSuffix(", verified\n"))
    #expect(try bench.good("assets", target).lines.count == 3)
    #expect(try bench.good("dump", target).output == bench.good("dump", file).output)
  }
}

extension JSONValue {
  fileprivate var elements: [JSONValue] { if case .array(let elements) = self { elements } else { [] } }
}
