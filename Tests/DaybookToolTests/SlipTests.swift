import Daybook
import Foundation
import Testing

@testable import DaybookTool

// Slips of the hand: names that nothing has, values of another kind, a file that another process has open.

@Suite("slips at the command line")
struct SlipTests {
  private let bench: Workbench
  private let file: String

  init() throws {
    bench = try Workbench()
    file = bench.path("a.daybook")
    try bench.good("put", file, "Library", "dune", "--type", "Movie", "title=Dune", "year=2021", "score=8.1")
    try bench.good("put", file, "Library", "alien", "--type", "Movie", "title=Alien", "year=1979")
  }

  @Test("a zone that is not there is told with what was meant, and how one is made, by every command that names one")
  func zones() throws {
    for call in [
      ["dump", file, "--zone", "Librray"], ["export", file, "-", "--zone", "Librray"],
      ["query", file, "Movie", "--zone", "Librray"],
      ["types", file, "--zone", "Librray"], ["get", file, "Librray", "dune"], ["history", file, "Librray", "dune"],
      ["changes", file, "Librray"], ["delete", file, "Librray", "dune"], ["delete", file, "Librray", "--whole-zone"],
    ] {
      let outcome = bench.run(call)
      #expect(outcome.status == ("get history".contains(call[0]) || call.last == "dune" ? 1 : 2), "\(call)")
      #expect(outcome.errors.contains("There is no zone Librray. Did you mean Library?"), "\(call): \(outcome.errors)")
      #expect(outcome.errors.contains("daybook zones FILE") && outcome.errors.contains("put and import make"), "\(call)")
    }
    #expect(try bench.records(file).count == 2)
  }

  @Test("a type or key that no record has is told by dump and export, whose output was empty without a word")
  func types() throws {
    for call in [["dump", file, "--type", "Movei"], ["export", file, "-", "--type", "Movei"]] {
      let outcome = bench.run(call)
      #expect(outcome.status == 0 && outcome.output.isEmpty)
      #expect(outcome.errors.contains("no record of type Movei. Did you mean Movie?"), "\(outcome.errors)")
    }
    let keys = bench.run("export", file, "-", "--format", "csv", "--keys", "title,yaer")
    #expect(keys.status == 0 && keys.errors.contains("the key yaer. Did you mean year?"), "\(keys.errors)")
    #expect(try bench.good("dump", file, "--type", "Movie").errors.isEmpty)
  }

  @Test("a record that is not there is told with names that are close to it")
  func records() throws {
    let got = bench.run("get", file, "Library", "duen")
    #expect(got.status == 1 && got.errors.contains("There is no record Library/duen. Did you mean dune?"), "\(got.errors)")
    let deleted = bench.run("delete", file, "Library", "duen", "nothing-like-it")
    #expect(deleted.status == 1 && deleted.output.contains("deleted 0 records"))
    #expect(deleted.errors.contains("there is no record Library/duen. Did you mean dune?"), "\(deleted.errors)")
    #expect(deleted.errors.contains("there is no record Library/nothing-like-it\n"))
  }

  @Test("log refuses a kind of frames that there is none of; it printed a header and nothing else")
  func kinds() throws {
    let outcome = bench.run("log", file, "--kind", "comit")
    #expect(outcome.status == 2 && outcome.errors.contains("commit"), "\(outcome.errors)")
    for kind in ["commit", "closed", "declarations"] { try bench.good("log", file, "--kind", kind) }
  }

  @Test("a condition on a field of another kind found nothing without a word")
  func comparedKinds() throws {
    try bench.good("put", file, "Library", "dune", "genres:strings=[\"drama\"]", "seen=2024-01-15")
    for (predicate, sentence) in [
      ("year > 'x'", "year is of the kind int, and finds nothing where it is compared with one of the kind string"),
      ("score == '8.1'", "score is of the kind double"), ("seen > CAST('2024-01-15', 'NSDate')", "seen is of the kind string"),
      ("genres CONTAINS 7", "genres is of the kind strings"), ("year IN {'a', 'b'}", "year is of the kind int"),
    ] {
      let outcome = bench.run("query", file, "Movie", predicate)
      #expect(outcome.status == 0 && outcome.output.isEmpty, "\(predicate)")
      #expect(outcome.errors.contains(sentence), "\(predicate): \(outcome.errors)")
    }
    for predicate in [
      "year > 1.5", "score < 9", "genres CONTAINS 'drama'", "title BEGINSWITH 'D'", "self CONTAINS 'dune'", "seen = nil",
    ] {
      #expect(bench.run("query", file, "Movie", predicate).errors.isEmpty, "\(predicate)")
    }
  }

  @Test("import made texts of the numbers that a key had without a word; it tells that, and --strict refuses it")
  func kindsOfImport() throws {
    let rows = try bench.write("id,title,year,score\nblade,Blade Runner,unknown,8\n", to: "rows.csv")
    let call = ["import", file, rows, "--zone", "Library", "--type", "Movie", "--id", "id"]
    let strict = bench.run(call + ["--strict"])
    #expect(strict.status == 6 && strict.errors.contains("key year: the values are of the kind string"), "\(strict.errors)")
    #expect(try bench.records(file).count == 2)
    let told = bench.run(call)
    #expect(told.status == 0)
    #expect(told.errors.contains("key year: the values are of the kind string; records of type Movie have int."))
    // Whole numbers and others are compared with each other.
    #expect(!told.errors.contains("key score") && !told.errors.contains("key title"), "\(told.errors)")
  }

  @Test("put made text of a number without a word, and no condition found it any more")
  func otherKinds() throws {
    let text = try bench.good("put", file, "Library", "dune", "year=unknown")
    #expect(text.errors.contains("year is of the kind string now; it was int. KEY:KIND=VALUE"), "\(text.errors)")
    // Other records are what a new one is compared with.
    let new = try bench.good("put", file, "Library", "heat", "--type", "Movie", "score=good")
    #expect(new.errors.contains("score is of the kind string now; other records of type Movie have double."), "\(new.errors)")
    for call in [["score=8"], ["year=1979.5"], ["title:string=1984"], ["studio=1"]] {
      #expect(try !bench.good("put", file, "Library", "alien", call[0]).errors.contains("of the kind"), "\(call)")
    }
    // One key, whatever kinds it has had elsewhere, is told by its own record.
    #expect(try bench.good("put", file, "Library", "alien", "year=none").errors.contains("it was double"))
  }

  @Test("a command that writes said nothing for five seconds beside an application that has the file open")
  func waiting() throws {
    let application = try Database.open(at: file)
    let process = Process()
    let program: URL = try #require(ProgramUnderTest.url)
    process.executableURL = program
    process.arguments = ["put", file, "Library", "dune", "year=1984"]
    let errors = Pipe()
    process.standardError = errors
    process.standardOutput = FileHandle.nullDevice
    try process.run()
    var text = ""
    while !text.contains("\n") {
      let piece = errors.fileHandleForReading.availableData
      if piece.isEmpty { break }
      text += String(decoding: piece, as: UTF8.self)
    }
    #expect(text.contains("another process has \(file) open for writing; waiting for it, 5 seconds at most"), "\(text)")
    try application.close()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    #expect(try bench.records(file)["dune"]?["year"] == .int(1984))
    // No other process has it open: nothing is said.
    #expect(try bench.good("put", file, "Library", "dune", "year=1985").errors.isEmpty)
  }

  @Test("an import of what is absent leaves records that are there, of rows and of lines of a dump")
  func absent() throws {
    let dump = try bench.write(bench.good("dump", file).output, to: "all.ndjson")
    try bench.good("put", file, "Library", "dune", "year=1")
    try bench.good("delete", file, "Library", "alien")
    let outcome = try bench.good("import", file, dump, "--on-existing", "skip")
    #expect(outcome.output.contains("1 skipped: a record of the same name was there"), "\(outcome.output)")
    #expect(try bench.records(file)["dune"]?["year"] == .int(1) && bench.records(file)["alien"]?["year"] == .int(1979))
    #expect(try bench.good("help", "import").output.contains("skip saves absent records only"))
  }
}
