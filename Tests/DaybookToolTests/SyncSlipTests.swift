import Daybook
import Foundation
import Testing

@testable import DaybookTool

@Suite("what sync said that was of no help")
struct SyncSlipTests {
  private let bench: Workbench
  private let here: String
  private let there: String

  init() throws {
    bench = try Workbench()
    (here, there) = (bench.path("here.daybook"), bench.path("there.daybook"))
    try bench.good("put", here, "Library", "dune", "--type", "Movie", "title=Dune")
  }

  @Test("two names of one file are one file")
  func hardLink() throws {
    try FileManager.default.linkItem(atPath: here, toPath: there)
    let outcome = bench.run("sync", here, there)
    #expect(outcome.status == 2 && outcome.errors.contains("LOCAL and REMOTE are the same file."), "\(outcome.errors)")
  }

  @Test("no file is made for a zone that is nowhere")
  func unknownZone() throws {
    let outcome = bench.run("sync", here, there, "--zone", "Libary")
    #expect(outcome.status == 2 && outcome.errors.contains("Neither database has a zone Libary."), "\(outcome.errors)")
    #expect(!FileManager.default.fileExists(atPath: there))
    #expect(bench.run("sync", here, there, "--zone", "Library").status == 0)
  }

  @Test("a zone that is deleted here because it was there is told; --retry tries again what is in quarantine")
  func told() throws {
    try bench.good("sync", here, there)
    try bench.good("put", here, "Other", "twin", "--type", "Movie", "title=here")
    try bench.good("put", there, "Other", "twin", "--type", "Person", "name=there")
    #expect(bench.run("sync", here, there).status == 1)
    try bench.good("delete", there, "Other", "twin")
    try bench.good("sync", here, there, "--retry")
    #expect(bench.run("quarantine", here).status == 0)
    let database = try Database.open(at: there)
    try database.deleteZone(try Zone.ID("Other"))
    try database.close()
    #expect(try bench.good("sync", here, there).errors.contains("the zone Other is gone here"))
    #expect(try bench.good("outbox", bench.path("here.daybook")).errors.isEmpty)
  }

  @Test("what a sync says about the quarantine can be typed as it is")
  func quarantine() throws {
    try bench.good("put", there, "Library", "dune", "--type", "Book", "title=Dune")
    let outcome = bench.run("sync", here, there)
    #expect(outcome.status == 1 && outcome.errors.contains("`daybook quarantine \(here)`"), "\(outcome.errors)")
    #expect(bench.run("quarantine", here).status == 1)
  }
}
