import Daybook
import Foundation
import Testing

@testable import DaybookTool

@Suite("what errors say of their cause")
struct ErrorTextTests {
  private let bench: Workbench
  private let file: String

  init() throws {
    bench = try Workbench()
    file = bench.path("test.daybook")
    try bench.good("put", file, "Z", "a", "--type", "T", "n=1")
  }

  @Test("an export into a directory that is not there said that the file does not exist")
  func missingDirectory() {
    let out = bench.path("none/deeper/out.csv")
    let folder = bench.path("none")
    let export = bench.run("export", file, out)
    #expect(export.status == 5 && export.errors.contains("there is no directory \(folder).\n"), "\(export.errors)")
    for command in ["backup", "salvage"] {
      let outcome = bench.run(command, file, out)
      #expect(outcome.status == 5 && outcome.errors.contains("no directory \(folder)."), "\(command): \(outcome.errors)")
    }
  }

  @Test("a token of another database was called too old")
  func foreignToken() throws {
    let other = bench.path("other.daybook")
    try bench.good("put", other, "Z", "a", "--type", "T", "n=1")
    let last = try #require(try bench.good("changes", other, "Z").lines.last)
    let outcome = bench.run("changes", file, "Z", "--since", String(last.dropFirst("token    ".count)))
    #expect(outcome.status == 1 && outcome.errors.contains("The token belongs to another database."))
    #expect(!outcome.errors.contains("too old"))
    let database = try Database.open(at: other)
    let token = try database.changes(in: try Zone.ID("Z"), since: nil).token
    try database.close()
    let mine = try Database.open(at: file)
    let error = #expect(throws: DatabaseError.self) { try mine.changes(in: try Zone.ID("Z"), since: token) }
    #expect(error?.code == .changeTokenExpired && error?.failureReason == nil)
    try mine.close()
  }

  @Test("an import onto a disk without room says so, and how many rows are saved", .enabled(if: ProgramUnderTest.url != nil))
  func fullDisk() throws {
    let rows = (0..<20_000).map { "{\"text\":\"row number \($0) of very many, none of which fits\"}" }.joined(separator: "\n")
    let input = try bench.write(rows, to: "rows.ndjson")
    let run = try ProgramRun.start(["import", bench.path("full.daybook"), input], script: "ulimit -f 512; \"$@\"")
    #expect(run.status == 5 && run.errors.contains("The file may not grow further."), "\(run.errors)")
    let saved = try bench.records(bench.path("full.daybook")).count
    #expect(run.errors.contains("\(saved) rows before it were saved; of the transaction that failed nothing was."))
  }
}
