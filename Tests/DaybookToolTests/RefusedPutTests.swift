import Foundation
import Testing

@testable import DaybookTool

@Suite("a put that is refused")
struct RefusedPutTests {
  private let bench: Workbench
  private let file: String

  init() throws {
    bench = try Workbench()
    file = bench.path("new.daybook")
  }

  @Test(
    "a refused put left a new, empty database",
    arguments: [
      ["Z", "n", "x=1"], ["Z", "n\u{e9}", "--type", "T", "x=1"], ["Z", "", "--type", "T"], ["", "n", "--type", "T"],
      ["Z", "n", "--type", "no type", "x=1"], ["Z", "n", "--type", "T", "no key=1"], ["Z", "n", "--type", "T", "=1"],
      ["Z", "n", "--type", "T", "x:int=one"], ["Z", "n", "--type", "T", "x:kind=1"], ["Z", "n", "--type", "T", "x"],
      ["Z", "n", "--type", "T", "x=1", "x=2"], ["Z", "n", "--type", "T", "photo:asset=/nowhere/photo"],
      ["Z", "n", "--type", "T", "photo:asset=/"], ["_defaultZone", "_n", "--type", "T"],
      ["Z", "n", "--type", "T", "x:string=" + String(repeating: "long", count: 1 << 20)],
    ])
  func refused(words: [String]) throws {
    let outcome = bench.run(["put", file] + words)
    #expect(outcome.status != 0 && outcome.output.isEmpty, "\(outcome.errors)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: bench.directory.path).isEmpty, "\(outcome.errors)")
    // One that is there is refused in the same words, and stays.
    let other = bench.path("old.daybook")
    try bench.good("put", other, "Z", "other", "--type", "T", "x=1")
    #expect(bench.run(["put", other] + words).errors == outcome.errors)
    #expect(try bench.good("dump", other).lines.count == 1)
  }

  @Test("a put that is not refused makes the file, with an asset of any size")
  func made() throws {
    let photo = try bench.write(Array(repeating: 7, count: 3 << 20), to: "photo.bin")
    let outcome = try bench.good("put", file, "Z", "n", "--type", "T", "x=1", "photo:asset=\(photo)")
    #expect(outcome.errors == "made \(file)\nmade zone Z\n")
    #expect(outcome.output.contains("3145728") || outcome.output.contains("3.0 MB"), "\(outcome.output)")
  }

  @Test("a key that was given twice was told twice, and the last value won")
  func twice() throws {
    try bench.good("put", file, "Z", "n", "--type", "T", "x=1")
    let outcome = bench.run("put", file, "Z", "n", "y=1", "y:string=2")
    #expect(outcome.status == 2 && outcome.errors.contains("The key y is given twice."))
    #expect(try !bench.good("dump", file).output.contains("\"y\""))
  }
}
