import Daybook
import DaybookEngine
import Foundation

/// All commands, in the order of the help.
enum Commands {
  static let all: [Command] = [
    info, dump, query, explain, index, get, put, delete, zones, types, changes, watch, subscriptions, history, importRows,
    export, check, backup, salvage, compact, assets, log, pages, map, report, shell, sync, outbox, quarantine, demo, demoWriter,
    trialWriter,
    trialReader, trialVerifier, trialAssetWriter, trialAssetVerifier, trialHash, help, completions,
  ]
}

extension Invocation {
  /// How this call opens databases.
  var databaseOptions: Database.Options {
    var options = Database.Options()
    if arguments.has("--buffered") { options.access = .buffered }
    return options
  }

  /// Opens the database at a path for reading, which locks nobody out, and says at the end what the file has lost.
  func reading(_ path: String, _ body: (Database) throws -> ExitStatus) throws -> ExitStatus {
    var options = databaseOptions
    options.isReadOnly = true
    let database = try Database.open(at: path, options: options)
    let status = try body(database)
    let recovery = database.lastRecovery
    if recovery.lostSequences == nil, recovery.missingByteCount == 0 {
      try noteUnfinishedWrite(of: database)
      return status
    }
    try output.flush()
    if recovery.missingByteCount > 0 {
      try note(
        "daybook: the file was cut short, \(Wording.bytes(recovery.missingByteCount)) are missing; the output above is the "
          + "intact part.")
    }
    guard let lost = recovery.lostSequences else { return .damaged }
    try note(
      "daybook: \(RecoveryReport.text(of: lost)) damaged; the output above is older than the damage.")
    return .damaged
  }

  /// Says what the open has left out. After a close nothing tells it any more.
  private func noteUnfinishedWrite(of database: Database) throws {
    let byteCount = database.lastRecovery.discardedByteCount
    guard byteCount > 0, !database.store.recovery.isBesideWriter else { return }
    try output.flush()
    try note("daybook: the last writer was cut off; \(Wording.bytes(byteCount)) of an unfinished write were left out.")
  }

  /// Whether something is at a path, as an open will look: below the folder, not by the path.
  func isThere(_ path: String) -> Bool { (try? SystemDisk().keepingFolder(holding: path).exists(path)) == true }

  /// Opens the database at a path for writing, and closes it.
  ///
  /// - Parameter mayCreate: whether a missing file is made; said on standard error.
  func writing(
    _ path: String, mayCreate: Bool, options: Database.Options? = nil, _ body: (Database) throws -> ExitStatus
  ) throws -> ExitStatus {
    let isNew = !isThere(path)
    if isNew, !mayCreate {
      throw ToolError(
        .inputOutput, "There is no file \(path).",
        advice: "`daybook import FILE INPUT` and `daybook put FILE …` make a new database.")
    }
    // CloudKit's limit is for what goes there; here a file may be as large as the disk takes.
    var options = options ?? databaseOptions
    options.limits.assetByteCount = .max
    let database = try waiting(for: path, options) { try Database.open(at: path, options: $0) }
    if isNew { try note("made \(path)") }
    try noteUnfinishedWrite(of: database)
    let status = try body(database)
    try database.close()
    return status
  }

  /// Does what needs the lock of a database, which another process may have: that is said before it is waited for.
  func waiting<R>(for path: String, _ options: Database.Options, _ body: (Database.Options) throws -> R) throws -> R {
    var first = options
    // Long enough for a process that is just closing it.
    first.lockTimeout = .milliseconds(100)
    let start = ContinuousClock.now
    do { return try body(first) } catch let error as DatabaseError where error.code == .locked {
      // What did not wait would not wait either with more time.
      guard start.duration(to: .now) >= first.lockTimeout else { throw error }
      try note(
        "daybook: another process has \(path) open for writing; waiting for it, "
          + "\(options.lockTimeout.components.seconds) seconds at most.")
      try errors.flush()
    }
    return try body(options)
  }

  /// The zone of a name: that of the owner that `--owner` names; else one of this user, or the only other of that name. A
  /// user who makes a zone of a name that is used already does not choose which one is read, written or deleted.
  func zone(_ name: String, in database: Database) throws -> Zone.ID {
    if let owner = arguments.value("--owner") { return try Zone.ID(name, owner: owner) }
    // By bytes, as zones are told apart: a composed and a decomposed "é" are two names.
    let found = try database.zones().map(\.id).filter { UTF8Order.equal($0.name, name) }
    if let own = found.first(where: \.isOwn) ?? (found.count == 1 ? found[0] : nil) { return own }
    if found.isEmpty { return try Zone.ID(name) }
    throw ToolError.usage(
      "There are \(found.count) zones \(ShownText.escaped(name)), of "
        + found.map { ShownText.escaped($0.owner) }.joined(separator: ", ") + ".", advice: "--owner says whose is meant.")
  }

  /// The zone of a name that has to be there: what is asked for within it cannot be found either.
  func existingZone(_ name: String, in database: Database) throws -> Zone.ID {
    let zone = try zone(name, in: database)
    guard try database.zones().contains(where: { $0.id == zone }) else { throw try unknownZone(name, in: database, .finding) }
    return zone
  }

  /// The error for a name that no zone has, with names that are close to it.
  /// - Parameter status: wrong usage where the name limits what is looked at, a finding where it leads to a record.
  func unknownZone(_ name: String, in database: Database, _ status: ExitStatus) throws -> ToolError {
    let question = Spelling.question(for: name, among: try database.zones().map(\.id.name))
    let sentence = "There is no zone \(ShownText.escaped(name)).\(question)"
    return missing(status, sentence, advice: ToolError.zoneAdvice, in: database)
  }

  /// The error for what is not there. Of a damaged file it is not known what was there.
  func missing(_ status: ExitStatus, _ sentence: String, advice: String, in database: Database) -> ToolError {
    let recovery = database.lastRecovery
    if recovery.lostSequences == nil, recovery.missingByteCount == 0 { return ToolError(status, sentence, advice: advice) }
    return ToolError(
      .damaged, "The file is damaged, and in the part that can be read: \(sentence)",
      advice: "`daybook check FILE` says what is lost; `daybook salvage FILE COPY` copies what can be read.")
  }

  /// Whether only one zone is looked at.
  var namesZone: Bool { arguments.value("--zone") != nil || arguments.value("--owner") != nil }

  /// The zone that `--zone` names, or all of the snapshot's; in order.
  func selectedZones(_ database: Database, _ snapshot: borrowing Snapshot) throws -> [Zone.ID] {
    if let zone = try selectedZone(database) { return [zone] }
    return try snapshot.zones().map(\.id)
  }

  /// The zone that `--zone` names; nil without it.
  func selectedZone(_ database: Database) throws -> Zone.ID? {
    guard let name = try zoneName() else { return nil }
    let selected = try zone(name, in: database)
    guard try database.zones().contains(where: { $0.id == selected }) else { throw try unknownZone(name, in: database, .usage) }
    return selected
  }

  /// What `--zone` says.
  func zoneName() throws -> String? {
    if let name = arguments.value("--zone") { return name }
    if arguments.value("--owner") == nil { return nil }
    throw ToolError.usage("--owner goes with --zone.", advice: command.usage)
  }

  /// Prints a list of JSON values, a line each, as one array.
  func printArray(_ elements: [JSONValue]) throws {
    var list = try JSONListWriter(output)
    for element in elements { try list.append(element) }
    try list.end()
  }

  /// Prints rows of texts in columns; numbers, in the columns named, to the right.
  func printTable(_ header: [String], _ rows: [[String]], numeric: Set<Int> = []) throws {
    // Before widths are taken: what is escaped is longer.
    let rows = rows.map { $0.map(ShownText.escaped) }
    var widths = header.map(\.count)
    for row in rows { for (index, cell) in row.enumerated() { widths[index] = max(widths[index], cell.count) } }
    for row in [header] + rows {
      var line = ""
      for (index, cell) in row.enumerated() {
        let space = String(repeating: " ", count: widths[index] - cell.count)
        line += (index == 0 ? "" : "  ") + (numeric.contains(index) ? space + cell : cell + space)
      }
      while line.last == " " { line.removeLast() }
      try output.line(line)
    }
  }
}
