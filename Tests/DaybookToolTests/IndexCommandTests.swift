import Daybook
import Foundation
import Testing

@testable import DaybookTool

@Suite("the command index")
struct IndexCommandTests {
  private let bench: Workbench
  private let file: String

  init() throws {
    bench = try Workbench()
    file = bench.path("films.daybook")
    let database = try Database.open(at: file)
    try database.write { transaction in
      for number in 0..<40 {
        var film = try Record(type: "Movie", id: Record.ID("m\(number)"))
        film["year"] = 1980 + number
        try transaction.save(film)
      }
    }
    try database.close()
  }

  @Test("an index is made, listed, used and dropped")
  func life() throws {
    #expect(try bench.good("index", file, "--json").output == "[]\n")
    let made = try bench.good("index", file, "Movie", "year", "--kinds", "queryable").output
    #expect(made.contains("Movie") && made.contains("year") && made.contains("complete") && made.contains("40"))
    #expect(try bench.good("explain", file, "Movie", "year == 1999").output.contains("index of Movie.year, 1 entries"))
    #expect(try bench.good("query", file, "Movie", "year == 1999").output.contains("\"m19\""))
    let listed = try bench.good("info", file, "--json").output
    #expect(listed.contains(#""indexes":[{"type":"Movie","key":"year","state":"complete","entryCount":40}]"#))
    #expect(try bench.good("info", file).output.contains("index     Movie.year  40 entries"))
    #expect(try bench.good("check", file, "--deep").status == 0)
    _ = try bench.good("index", file, "Movie", "year", "--drop")
    #expect(try bench.good("index", file, "--json").output == "[]\n")
    #expect(try bench.good("explain", file, "Movie", "year == 1999").output.contains("scan"))
  }

  @Test("what names no index is refused as wrong usage")
  func refused() {
    #expect(bench.run("index", file, "Movie").status == 2)
    #expect(bench.run("index", file, "--drop").status == 2)
    #expect(bench.run("index", file, "Movie", "year", "--drop").status == 2)
    #expect(bench.run("index", file, "Movie", "year", "--kinds", "searchable").status == 2)
    #expect(bench.run("index", file, "Movie", "year", "--kinds", "").status == 2)
    #expect(bench.run("index", file, "Movie", "recordName").status != 0)
    #expect(bench.run("index", bench.path("none.daybook"), "Movie", "year").status != 0)
  }
}
