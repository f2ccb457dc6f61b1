import Daybook
import Foundation

/// The tour that `daybook demo` gives: everything on real data in a temporary directory, checked as it goes.
struct Demo {
  private let output: Output
  private let directory: URL
  /// The program to run as the writing child: this one.
  private let program: URL
  private var failureCount = 0

  private var path: String { directory.appendingPathComponent("cities.daybook").path }

  init(program: URL, output: Output) throws {
    self.program = program
    self.output = output
    directory = FileManager.default.temporaryDirectory.appendingPathComponent("daybook-demo-\(UUID().uuidString)")
    try FileManager.default.createDirectory(
      at: directory, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
  }

  mutating func run() throws -> ExitStatus {
    defer { try? FileManager.default.removeItem(at: directory) }
    try output.line("A tour of Daybook in \(path)")
    try output.line()
    let database = try Database.open(at: path)
    try importCities(database)
    try readAndSave(database)
    try conflict(database)
    try changes(database)
    try database.close()
    try killWriter()
    try check()
    try output.line()
    try output.line(failureCount == 0 ? "Everything held." : "\(failureCount) things did not hold.")
    return failureCount == 0 ? .done : .finding
  }

  // MARK: steps

  private mutating func importCities(_ database: Database) throws {
    try begin("Import", "\(CitiesExtract.rowCount) places, from \(CitiesExtract.attribution)")
    var options = ImportOptions()
    options.zone = try Zone.ID("Atlas")
    options.type = "City"
    options.nameColumn = "name"
    options.location = ("lat", "lon")
    let input = try InputFile(text: CitiesExtract.csv, name: "cities.csv")
    let importer = try Importer(input, format: .csv, options, errors: .memory())
    let (report, time) = try timed { try importer.save(try importer.survey(), into: database) }
    try say("saved \(report.newCount) records in \(milliseconds(time)), durable, in one commit a thousand rows")
    try expect(
      try database.recordCount(in: options.zone, ofType: "City") == CitiesExtract.rowCount, "every row is a record")
  }

  private mutating func readAndSave(_ database: Database) throws {
    try begin("Save, update, delete", "one record at a time, each commit on the disk before the next")
    let atlas = try Zone.ID("Atlas")
    let count = 200
    let (_, time) = try timed {
      for number in 0..<count {
        try database.write { transaction in
          var visit = try Record(type: "Visit", id: Record.ID("visit-\(number)", in: atlas))
          visit["number"] = number
          visit["note"] = "نهار سعيد · e\u{301}te\u{301} · 🏔️"
          try transaction.save(visit)
        }
      }
    }
    try say("\(count) durable commits in \(milliseconds(time)): \(Int(Double(count) / time)) a second")
    let names = try database.records(in: atlas, ofType: "City").map(\.id)
    let reads = 20_000
    let (found, readTime) = try timed {
      var found = 0
      for number in 0..<reads where try database.record(names[number % names.count])?["cc"] as String? != nil {
        found += 1
      }
      return found
    }
    try say("\(reads) reads by name in \(milliseconds(readTime)): \(Int(readTime / Double(reads) * 1e9)) ns each")
    try expect(found == reads, "every place has its country")
    let id = try Record.ID("visit-7", in: atlas)
    try database.write { transaction in
      guard var visit = try transaction.record(id) else { return }
      visit["note"] = nil
      visit["stars"] = 5
      try transaction.save(visit)
      try transaction.delete(try Record.ID("visit-8", in: atlas))
    }
    let updated = try database.record(id)
    try expect(updated?["stars"] == 5 && updated?["note"] as String? == nil, "the update is there")
    try expect(try database.record(Record.ID("visit-8", in: atlas)) == nil, "the deleted record is gone")
  }

  private mutating func conflict(_ database: Database) throws {
    try begin("Conflict", "two copies of one record are changed, and both are saved")
    let id = try Record.ID("visit-9", in: Zone.ID("Atlas"))
    guard var mine = try database.record(id), var theirs = try database.record(id) else {
      return try expect(false, "the record is there")
    }
    theirs["note"] = "changed by somebody else"
    mine["stars"] = 3
    try database.write { [theirs] transaction in try transaction.save(theirs) }
    do {
      try database.write { [mine] transaction in try transaction.save(mine) }
      try expect(false, "the second save is refused")
    } catch let error as DatabaseError {
      try expect(error.code == .serverRecordChanged, "the second save is refused: \(error.message)")
      guard let server = error.conflict?.server else { return try expect(false, "the error has the stored record") }
      mine.rebase(onto: server)
      let saved = try database.write { [mine] transaction in try transaction.save(mine) }
      try expect(
        saved["stars"] == 3 && saved["note"] == "changed by somebody else", "after a rebase both changes are there")
    }
  }

  private mutating func changes(_ database: Database) throws {
    try begin("Changes since a token", "what a sync engine asks for")
    let atlas = try Zone.ID("Atlas")
    var token: ChangeToken?
    var count = 0
    var moreComing = true
    let (_, time) = try timed {
      while moreComing {
        let page = try database.changes(in: atlas, since: token)
        count += page.saved.count + page.deleted.count
        token = page.token
        moreComing = page.moreComing
      }
    }
    try say("\(count) changes from the beginning in \(milliseconds(time))")
    try expect(count == CitiesExtract.rowCount + 200, "each record is there once, the deleted one as a tombstone")
    try database.write { transaction in
      var visit = try Record(type: "Visit", id: Record.ID("visit-new", in: atlas))
      visit["number"] = -1
      try transaction.save(visit)
      try transaction.delete(try Record.ID("visit-1", in: atlas))
    }
    let page = try database.changes(in: atlas, since: token)
    try expect(
      page.saved.map(\.id.name) == ["visit-new"] && page.deleted.map(\.id.name) == ["visit-1"],
      "since the token: one record saved, one deleted, nothing else")
  }

  private mutating func killWriter() throws {
    try begin("Kill a writer", "a second process writes; it is killed in the middle and the file is opened again")
    #if os(macOS) || os(Linux)
      let child = Process()
      child.executableURL = program
      child.arguments = ["demo-writer", path]
      let pipe = Pipe()
      child.standardOutput = pipe
      try child.run()
      var acknowledged: [UInt8] = []
      // Each line is a commit that the child was told is durable.
      while acknowledged.count(where: { $0 == 0x0A }) < 100 {
        guard let piece = try pipe.fileHandleForReading.read(upToCount: 4096), !piece.isEmpty else { break }
        acknowledged.append(contentsOf: piece)
      }
      kill(child.processIdentifier, SIGKILL)
      child.waitUntilExit()
      while let piece = try pipe.fileHandleForReading.read(upToCount: 4096), !piece.isEmpty {
        acknowledged.append(contentsOf: piece)
      }
      let count = acknowledged.count { $0 == 0x0A }
      try expect(child.terminationReason == .uncaughtSignal, "the child was killed while it wrote")
      let (database, time) = try timed { try Database.open(at: path) }
      let recovery = database.lastRecovery
      try say(
        "opened in \(milliseconds(time)): \(recovery.replayedCommitCount) commits replayed, "
          + "\(recovery.discardedByteCount) bytes of an unfinished write thrown away")
      let zone = try Zone.ID("Child")
      var missing = 0
      for number in 0..<count where try database.record(Record.ID("write-\(number)", in: zone)) == nil { missing += 1 }
      let stored = try database.recordCount(in: zone)
      try expect(count >= 100 && missing == 0, "all \(count) acknowledged records are there, \(stored) in all")
      try database.close()
    #else
      try say("not here: programs of this system start no others")
    #endif
  }

  private mutating func check() throws {
    try begin("Check", "every frame, page, count and record, and the log against the trees")
    let database = try Database.open(at: path)
    let (report, time) = try timed { try database.check(.deep) }
    try say(
      "\(report.frameCount) frames, \(report.commitCount) commits, \(report.pageCount) pages, "
        + "\(report.recordCount) records in \(milliseconds(time))")
    for finding in report.findings { try say("\(finding)") }
    try expect(report.isClean, "nothing is wrong")
    let byteCount = try database.statistics().fileByteCount
    try say("the file has \(Wording.bytes(byteCount))")
    try database.close()
  }

  // MARK: words

  private func begin(_ title: String, _ explanation: String) throws {
    try output.line("\(title): \(explanation)")
    try output.flush()
  }

  private func say(_ text: String) throws { try output.line("    \(text)") }

  private mutating func expect(_ condition: Bool, _ promise: String) throws {
    try output.line("  \(condition ? "✓" : "✗") \(promise)")
    if !condition { failureCount += 1 }
  }

  private func milliseconds(_ seconds: Double) -> String { String(format: "%.1f ms", seconds * 1000) }

  /// What `body` returns, and the seconds it took.
  private func timed<R>(_ body: () throws -> R) rethrows -> (R, Double) {
    let start = ContinuousClock.now
    let result = try body()
    let (seconds, attoseconds) = (ContinuousClock.now - start).components
    return (result, Double(seconds) + Double(attoseconds) / 1e18)
  }
}

extension Commands {
  static let demo = Command(
    name: "demo", summary: "Show what Daybook does, on real data in a temporary directory.", positionals: [],
    details: """
      Imports places, saves, updates and deletes, meets a conflict, reads changes since a token, kills a process that
      writes and recovers, checks everything, and says how fast it was. The status is 0 only if everything held.
      """
  ) { invocation in
    guard let program = Bundle.main.executableURL else {
      throw ToolError(.inputOutput, "The tool does not find its own program.")
    }
    var demo = try Demo(program: program, output: invocation.output)
    return try demo.run()
  }

  /// What the demo runs as a child: writes records until it is killed, and says after each commit that it is durable.
  static let demoWriter = Command(
    name: "demo-writer", summary: "Write records until killed.", positionals: ["FILE"], isHidden: true
  ) { invocation in
    let database = try Database.open(at: invocation.arguments[0])
    let zone = try Zone.ID("Child")
    try database.write { transaction in try transaction.save(Zone(zone)) }
    // Ends by itself, should nobody kill it.
    for number in 0..<1_000_000 {
      try database.write { transaction in
        var record = try Record(type: "Write", id: Record.ID("write-\(number)", in: zone))
        record["text"] = String(repeating: "daybook ", count: 32)
        try transaction.save(record)
      }
      try invocation.output.line(String(number))
      try invocation.output.flush()
    }
    try database.close()
    return .done
  }
}
