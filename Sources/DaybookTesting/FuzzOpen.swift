import Daybook
import DaybookEngine
import Foundation

/// A file of any content: opened for reading and for writing, read from end to end, checked, written to, opened again.
///
/// Whatever the bytes are, calls return or throw a `DatabaseError`. If a reader is told that the file was cut short, no check
/// calls it clean, and nobody may write to it. If `check(.deep)` calls a file clean, everything in it can be read, a reader and
/// a writer see the same, and what a transaction saves is there afterwards.
///
/// Two looks that cost much and seldom find more are taken for one input in four, which a hash of its bytes chooses: whether the
/// deep check finds what the other one does, and what a damaged file answers after a transaction.
package enum FuzzOpen {
  private static let path = "a.daybook"

  package static func run(_ input: [UInt8]) throws {
    try examine(FuzzForging.image(input), isThorough: input.withView { XXH3.hash($0, seed: 0) } & 3 == 0)
  }

  /// - Parameter isThorough: whether to take the two looks, too.
  static func examine(_ image: [UInt8], isThorough: Bool = true) throws {
    if image.count > 2 << 20 { return }
    let disk = FuzzForging.disk()
    disk.install(image, at: path)
    var isClean = false
    var isCut = false
    var seen: Contents?
    if let database = try open(disk, isReadOnly: true) {
      let contents = Contents(database, isInspected: true)
      isClean = try check(database, comparesDepths: isThorough)
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
      try require(
        seen.answers == contents.answers, "a writer sees another database than a reader: \(seen.difference(from: contents))")
    }
    // If the reader found the file clean, an open for writing has not changed its content.
    if !isClean || seen == nil { isClean = try check(database) }
    let hasWritten = try write(database, mustSucceed: isClean)
    let after = isClean || isThorough ? Contents(database) : nil
    let hasClosed = (try? database.close()) != nil
    try require(hasClosed || !isClean, "a clean file cannot be closed")
    guard hasWritten, hasClosed, isClean, let after else { return }
    guard let again = try open(disk, isReadOnly: true) else { throw Forgery.Finding("a file that was written does not open") }
    let last = Contents(again)
    try require(
      last.answers == after.answers,
      "what was written is not what is read after opening again: \(after.difference(from: last))")
    try require(
      try check(again), "a clean file is damaged after a transaction: \((try? again.check(.deep))?.findings ?? [])")
  }

  private static func open(_ disk: SimulatedDisk, isReadOnly: Bool) throws -> Database? {
    var options = FuzzForging.options(seed: 99)
    options.isReadOnly = isReadOnly
    do { return try Database.open(at: path, options: options, disk: disk) } catch {
      // An error must have a description, too.
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
          let found = try transaction.records(in: zone.id, limit: 2)
          if let changed = found.last, found.count > 1 { try change(changed, transaction) }
          if let victim = found.first, victim.id != record.id { try transaction.delete(victim.id) }
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

  /// Saves on top of unverified bytes; the schema of the file may refuse that.
  private static func change(_ record: Record, _ transaction: borrowing Transaction) throws {
    var record = record
    do {
      try transaction.savepoint {
        record["s"] = "changed"
        record["late"] = Data([1, 2, 3])
        record["where"] = [1.5, 2.5]
        record["n"] = nil as Int64?
        try transaction.save(record, policy: .changedKeys)
      }
    } catch let error as DatabaseError where error.code != .corrupted { _ = error.description }
  }

  /// Everything that a database answers, one hash for each answer; errors by their code. Text for all of it would take longer
  /// than the database does.
  private struct Contents {
    private(set) var answers: [Int] = []
    /// What each answer was about.
    private var subjects: [Subject] = []
    private(set) var failures: [String] = []

    private enum Subject { case commit, zone, record, type, again, history, feed, count, database, metadata, error }

    /// - Parameter isInspected: whether to ask the tool's questions, too.
    init(_ database: Database, isInspected: Bool = false) {
      guard let snapshot = attempt("snapshot", { try database.snapshot() }) else { return }
      add(.commit) { $0.combine(snapshot.sequence) }
      let zones = attempt("zones", { try snapshot.zones() }) ?? []
      for zone in zones {
        add(.zone) {
          $0.combine(zone.id)
          $0.combine(zone.capabilities.rawValue)
        }
        var names: [Record.ID] = []
        for record in attempt("records", { try snapshot.records(in: zone.id) }) ?? [] {
          describe(record)
          names.append(record.id)
        }
        if let types = attempt("types", { try snapshot.recordTypes(in: zone.id) }) {
          for (type, count) in types {
            let found = attempt("records of a type", { try snapshot.records(in: zone.id, ofType: type) })
            add(.type) {
              $0.combine(type)
              $0.combine(count)
              for record in found ?? [] { $0.combine(record.id.name) }
            }
          }
        }
        for id in names.prefix(40) {
          if let record = attempt("record", { try snapshot.record(id) }) {
            add(.again) { $0.combine(record?.metadata?.changeTag) }
          }
          // Links to older versions may lead anywhere; the check does not follow them.
          if let history = attempt("history", mayFail: true, { try snapshot.history(of: id) }) {
            add(.history) {
              for version in history.prefix(9) { $0.combine(version.changeTag) }
              $0.combine(history.count)
            }
          }
        }
        var token: ChangeToken?
        var pageCount = 0
        while let page = attempt("changes", { try snapshot.changes(in: zone.id, since: token, limit: 50) }) {
          add(.feed) {
            for record in page.saved { $0.combine(record.id.name) }
            for deletion in page.deleted {
              $0.combine(deletion.id)
              $0.combine(deletion.type)
            }
          }
          token = page.token
          pageCount += 1
          if !page.moreComing { break }
          if pageCount > 10_000 {
            failures.append("a feed without end")
            break
          }
        }
        if let count = attempt("change count", { try snapshot.changeCount(in: zone.id, since: nil) }) {
          add(.count) { $0.combine(count) }
        }
      }
      if let page = attempt("database changes", { try snapshot.databaseChanges(since: nil) }) {
        add(.database) {
          for zone in page.changed { $0.combine(zone) }
          for deletion in page.deleted {
            $0.combine(deletion.id)
            $0.combine(deletion.reason)
          }
        }
      }
      for key in ["state", "late", "fuzz"] {
        if let value = attempt("metadata", { try snapshot.metadata(forKey: key) }) {
          add(.metadata) { $0.combine(value.map { [UInt8]($0) }) }
        }
      }
      if isInspected { inspect(database) }
    }

    /// The first answer that differs, in words.
    func difference(from other: Contents) -> String {
      let index = zip(answers, other.answers).prefix { $0 == $1 }.count
      let subject = index < subjects.count ? "\(subjects[index])" : "end"
      return "answer \(index) of \(answers.count) and \(other.answers.count), about a \(subject)"
    }

    /// Asks for what the tool shows; it only matters that the calls return in time.
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
      add(.record) {
        $0.combine(record.id)
        $0.combine(record.type)
        $0.combine(record.parent?.id.name)
        $0.combine(record.metadata?.changeTag)
        $0.combine(record.metadata?.creatorUserID)
        for key in record.keys {
          $0.combine(key)
          $0.combine(record[key] as Record.Value?)
        }
      }
    }

    private mutating func add(_ subject: Subject, _ answer: (inout Hasher) -> Void) {
      var hasher = Hasher()
      answer(&hasher)
      answers.append(hasher.finalize())
      subjects.append(subject)
    }

    /// - Parameter mayFail: for answers that the check does not cover.
    private mutating func attempt<R: ~Copyable>(
      _ what: String, mayFail: Bool = false, _ body: () throws -> R
    ) -> R? {
      do { return try body() } catch {
        add(.error) {
          $0.combine(what)
          $0.combine((error as? DatabaseError)?.code)
        }
        if !mayFail { failures.append("\(what): \(error)") }
        return nil
      }
    }
  }
}
