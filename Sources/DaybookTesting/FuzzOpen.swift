import Daybook
import DaybookEngine
import Foundation

/// A file of any content: opened for reading and for writing, read from end to end, checked, written to, opened again.
///
/// What holds whatever the bytes are: calls return or throw a `DatabaseError`, and what a reader is told to be cut short no check
/// calls clean, and nobody may write to. What holds of a file that `check(.deep)` calls
/// clean: everything in it reads, a reader and a writer see the same, and what a transaction saves is there afterwards.
package enum FuzzOpen {
  private static let path = "a.daybook"

  package static func run(_ input: [UInt8]) throws { try examine(FuzzForging.image(input)) }

  static func examine(_ image: [UInt8]) throws {
    if image.count > 2 << 20 { return }
    let disk = FuzzForging.disk()
    disk.install(image, at: path)
    var isClean = false
    var isCut = false
    var seen: Contents?
    if let database = try open(disk, isReadOnly: true) {
      let contents = Contents(database)
      isClean = try check(database, comparesDepths: true)
      isCut = database.lastRecovery.missingByteCount > 0
      try require(!isClean || !isCut, "the check finds nothing in a file that was cut short")
      try require(!isClean || contents.failures.isEmpty, "the check finds nothing, but reading fails: \(contents.failures)")
      seen = contents
      _ = try? database.close()
    }
    guard disk.holds(image, at: path) else { throw Forgery.Finding("opening for reading changed the file") }
    guard let database = try open(disk, isReadOnly: false) else { return }
    try require(!isCut, "a file that was cut short is open for writing")
    let contents = Contents(database)
    if let seen, isClean {
      try require(seen.text == contents.text, "a writer sees another database than a reader:\n\(seen.text)\n\(contents.text)")
    }
    // What the reader found clean, an open for writing has not changed.
    if !isClean || seen == nil { isClean = try check(database) }
    let hasWritten = try write(database, mustSucceed: isClean)
    let after = Contents(database)
    let hasClosed = (try? database.close()) != nil
    try require(hasClosed || !isClean, "a clean file cannot be closed")
    guard hasWritten, hasClosed, isClean else { return }
    guard let again = try open(disk, isReadOnly: true) else { throw Forgery.Finding("a file that was written does not open") }
    try require(Contents(again).text == after.text, "what was written is not what is read after opening again")
    try require(
      try check(again), "a clean file is damaged after a transaction: \((try? again.check(.deep))?.findings ?? [])")
  }

  private static func open(_ disk: SimulatedDisk, isReadOnly: Bool) throws -> Database? {
    var options = FuzzForging.options(seed: 99)
    options.isReadOnly = isReadOnly
    do { return try Database.open(at: path, options: options, disk: disk) } catch {
      // An error has to find words, too.
      _ = error.description
      return nil
    }
  }

  private static func check(_ database: Database, comparesDepths: Bool = false) throws -> Bool {
    let deep = try? database.check(.deep)
    for finding in deep?.findings ?? [] { _ = finding.description }
    if comparesDepths, let deep, let report = try? database.check(.structure) {
      for finding in report.findings { _ = finding.description }
      try require(report.isClean || !deep.isClean, "the deep check overlooks: \(report.findings)")
    }
    return deep?.isClean ?? false
  }

  private static func write(_ database: Database, mustSucceed: Bool) throws -> Bool {
    do {
      try database.write { transaction in
        for zone in try transaction.zones().prefix(4) {
          var record = try Record(type: "Fuzz", id: Record.ID("fuzz", in: zone.id))
          record["n"] = 1 as Int64
          let known = try transaction.record(record.id)
          if known == nil || known?.type == "Fuzz" { try transaction.save(record, policy: .changedKeys) }
          if let victim = try transaction.records(in: zone.id, limit: 1).first, victim.id != record.id {
            try transaction.delete(victim.id)
          }
        }
        try transaction.save(Zone(Zone.ID("fuzz")))
        try transaction.setMetadata(Data([1]), forKey: "fuzz")
      }
      return true
    } catch let error as DatabaseError {
      try require(!mustSucceed, "a clean file refuses a transaction: \(error)")
      return false
    }
  }

  /// Everything that a database answers, as text; errors by their code.
  private struct Contents {
    private(set) var text = ""
    private(set) var failures: [String] = []

    init(_ database: Database) {
      guard let snapshot = attempt("snapshot", { try database.snapshot() }) else { return }
      add("commit \(snapshot.sequence)")
      let zones = attempt("zones", { try snapshot.zones() }) ?? []
      for zone in zones {
        add("zone \(zone.id) \(zone.capabilities.rawValue)")
        var names: [Record.ID] = []
        for record in attempt("records", { try snapshot.records(in: zone.id) }) ?? [] {
          describe(record)
          names.append(record.id)
        }
        if let types = attempt("types", { try snapshot.recordTypes(in: zone.id) }) {
          for (type, count) in types {
            add("type \(type) \(count)")
            let found = attempt("records of a type", { try snapshot.records(in: zone.id, ofType: type) })
            add("found \(found?.map(\.id.name) ?? [])")
          }
        }
        for id in names.prefix(40) {
          if let record = attempt("record", { try snapshot.record(id) }) {
            add("again \(record?.metadata?.changeTag ?? "none")")
          }
          // Links to older versions may lead anywhere; the check does not follow them.
          if let history = attempt("history", mayFail: true, { try snapshot.history(of: id) }) {
            add("history \(history.prefix(9).map(\.changeTag)) \(history.count)")
          }
        }
        var token: ChangeToken?
        var pageCount = 0
        while let page = attempt("changes", { try snapshot.changes(in: zone.id, since: token, limit: 50) }) {
          add("feed \(page.saved.map(\.id.name)) \(page.deleted.map { "\($0.id) \($0.type)" })")
          token = page.token
          pageCount += 1
          if !page.moreComing { break }
          if pageCount > 10_000 {
            failures.append("a feed without end")
            break
          }
        }
        if let count = attempt("change count", { try snapshot.changeCount(in: zone.id, since: nil) }) {
          add("changes \(count)")
        }
      }
      if let page = attempt("database changes", { try snapshot.databaseChanges(since: nil) }) {
        add("changed \(page.changed) \(page.deleted.map { "\($0.id) \($0.reason)" })")
      }
      for key in ["state", "late", "fuzz"] {
        if let value = attempt("metadata", { try snapshot.metadata(forKey: key) }) {
          add("\(key) \(value.map { Array($0) } ?? [])")
        }
      }
      inspect(database)
    }

    /// What the tool shows; how long it takes and that it comes back is what counts.
    private mutating func inspect(_ database: Database) {
      _ = attempt("statistics", { try database.statistics() })
      _ = attempt("trees", { try database.trees() })
      var frameCount = 0
      do {
        try database.frames { _ in
          frameCount += 1
          return true
        }
      } catch { failures.append("frames: \(error)") }
    }

    private mutating func describe(_ record: Record) {
      var line = "\(record.id) \(record.type) \(record.parent?.id.name ?? "-")"
      if let metadata = record.metadata { line += " \(metadata.changeTag) \(metadata.creatorUserID ?? "-")" }
      for key in record.keys {
        // Values by their hash: words for them take longer than all else.
        line += " \(key)=\((record[key] as Record.Value?)?.hashValue ?? 0)"
      }
      add(line)
    }

    private mutating func add(_ line: String) { text += line + "\n" }

    /// - Parameter mayFail: of what the check does not look at.
    private mutating func attempt<R: ~Copyable>(
      _ what: String, mayFail: Bool = false, _ body: () throws -> R
    ) -> R? {
      do { return try body() } catch {
        add("\(what): \((error as? DatabaseError).map { "\($0.code)" } ?? "no error of the database")")
        if !mayFail { failures.append("\(what): \(error)") }
        return nil
      }
    }
  }
}
