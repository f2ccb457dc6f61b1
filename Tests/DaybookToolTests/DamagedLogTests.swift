import Daybook
import Foundation
import Testing

@testable import DaybookTool

@Suite("check of a damaged log")
struct DamagedLogTests {
  private let bench: Workbench
  private let file: String
  private let damaged: String

  init() throws {
    bench = try Workbench()
    file = bench.path("sound.daybook")
    damaged = bench.path("damaged.daybook")
    let rows = (0..<3000).map { "n\($0),title number \($0)" }.joined(separator: "\n")
    try bench.good("import", file, try bench.write("name,title\n\(rows)\n", to: "rows.csv"), "--id", "name")
  }

  /// The commits of 1,000 rows each, by their places.
  private func commits() throws -> [Range<Int>] {
    let words = try bench.good("log", file).lines.map { $0.split(separator: " ") }
    return words.filter { $0.count > 4 && $0[1] == "commit" && (Int($0[4]) ?? 0) > 10_000 }
      .compactMap { words in Int(words[0]).flatMap { start in Int(words[4]).map { start..<start + $0 } } }
  }

  private func damage(_ places: [Int]) throws {
    var bytes = Array(try Data(contentsOf: URL(fileURLWithPath: file)))
    for place in places { bytes[place] ^= 0xFF }
    _ = try bench.write(bytes, to: "damaged.daybook")
  }

  @Test("check ended at the first damaged commit, and said nothing of the next ones")
  func laterCommits() throws {
    let commits = try commits()
    try #require(commits.count == 3)
    try damage([commits[0].lowerBound + 20_000, commits[2].lowerBound + 30_000])
    let check = bench.run("check", damaged)
    #expect(check.status == 1)
    #expect(check.output.contains("byte \(commits[0].lowerBound): commit 1 is damaged"), "\(check.output)")
    #expect(check.output.contains("byte \(commits[2].lowerBound): commit "), "\(check.output)")
    let places = check.lines.filter { $0.contains("operation") }
      .compactMap { Int($0.drop { $0 != " " }.dropFirst().prefix { $0 != ":" }) }
    #expect(places.contains { commits[0].contains($0) } && places.contains { commits[2].contains($0) })
    #expect(!places.contains { commits[1].contains($0) })
    #expect(check.errors.contains("were not looked at") && check.errors.contains("daybook salvage"))
    #expect(try json(bench.run("check", damaged, "--json").output)["looksAtRecords"] == false)
  }

  @Test("a header that is gone is a gap of as many bytes, and what follows it is looked at")
  func gap() throws {
    let commits = try commits()
    try damage([commits[0].lowerBound + 40, commits[2].lowerBound + 30_000])
    let check = bench.run("check", damaged)
    let start = commits[0].lowerBound
    #expect(check.output.contains("byte \(start): \(commits[1].lowerBound - start) bytes hold no"), "\(check.output)")
    #expect(check.output.contains("byte \(commits[2].lowerBound): commit "), "\(check.output)")
  }

  @Test("of very many damaged places 100 are listed, and the others counted")
  func many() throws {
    let commit = try #require(try commits().first)
    let bytes = Array(try Data(contentsOf: URL(fileURLWithPath: file)))
    let word = Array("title number".utf8)
    try damage(commit.dropLast(word.count).filter { bytes[$0] == word[0] && Array(bytes[$0..<$0 + word.count]) == word })
    let check = bench.run("check", damaged)
    #expect(check.lines.filter { $0.contains("checksum does not match") }.count <= 100)
    #expect(check.output.contains("more damaged places of the log are not listed"), "\(check.lines.suffix(3))")
  }

  @Test("a sound file has no such words")
  func sound() throws {
    let check = try bench.good("check", file)
    #expect(check.errors.isEmpty && check.lines.count == 1)
  }
}
