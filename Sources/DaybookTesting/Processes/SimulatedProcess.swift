import Daybook
import DaybookEngine

/// One process: its disk, and the database that its threads share.
final class SimulatedProcess: @unchecked Sendable {
  let index: Int
  let member: ProcessSettings.Member
  unowned let run: ProcessRun
  private(set) var disk: ProcessDisk
  private(set) var open: ProcessOpen?
  /// Threads that find no database wait for the one that opens it.
  private let opening = Monitor(isScheduled: true)

  init(_ index: Int, _ run: ProcessRun) {
    self.index = index
    self.run = run
    member = run.settings.members[index]
    disk = run.makeDisk(for: index)
  }

  private var history: ProcessHistory { run.history }

  /// The database; opens it if necessary.
  func current() throws -> ProcessOpen {
    try opening.withLock {
      if let open { return open }
      let (present, durable, disk, number) = (history.present, history.durable, disk, run.nextOpen())
      let options = run.settings.options(member, open: number)
      let database = try watched { try Database.open(at: ProcessRun.path, options: options, disk: disk) }
      // This process may have ended in another thread in the meantime.
      if disk.isDead { throw CrashDeviation("an open of a process that is gone") }
      let opened = ProcessOpen(database, disk, Int(number))
      open = opened
      // A writer that does not prove its commits in time may have acknowledged more than a reader sees.
      let isBehind = database.store.recovery.isBehindWriter
      if database.lastRecovery.tellsOfDamage { throw CrashDeviation("open takes a crash for corruption") }
      // A sync of another thread may have failed in the meantime, and the cache may have dropped what was not durable.
      try look(opened, floor: isBehind ? 0 : run.hasDroppedPages ? durable : present)
      return opened
    }
  }

  /// The history learns which open has made the file.
  private func watched(_ open: () throws -> Database) throws -> Database {
    if member.role == .follower { return try open() }
    let opening = history.beginOpening(isMissing: !run.disk.paths.contains(ProcessRun.path))
    var isOpen = false
    defer { history.end(opening, isOpen: isOpen) }
    let database = try open()
    isOpen = !disk.isDead
    return database
  }

  /// From here on, threads find no database; nil if another thread came first.
  func take(_ wanted: ProcessOpen?) -> Database? {
    guard let wanted, open === wanted else { return nil }
    open = nil
    return wanted.database
  }

  /// Ends everything that uses this disk.
  func leave(_ old: ProcessDisk) {
    old.die()
    if disk === old { open = nil }
  }

  /// Replaces a process that died by the next one.
  func revive() { if disk.isDead { disk = run.makeDisk(for: index) } }

  // MARK: looking

  func look(_ open: ProcessOpen, floor: Int = 0) throws {
    _ = try read(try open.database.snapshot(), of: open, floor: floor)
  }

  /// Reads everything in a new snapshot. Returns the number of its commit.
  func read(_ snapshot: borrowing Snapshot, of open: ProcessOpen, floor: Int) throws -> Int {
    let before = open.seen
    let shown = try CommitNumber.of(snapshot.metadata(forKey: "step"))
    guard history.attempts.indices.contains(shown) else {
      throw CrashDeviation("process \(index) sees a commit that nobody made")
    }
    // Reads in place make no disk call: what is read after the process is gone does not count as seen.
    if open.disk.isDead { throw CrashDeviation("a look of a process that is gone") }
    // What is durable for its reader must stay from the first read on.
    let isDurable = member.role == .follower || member.durability != .relaxed
    let promised = isDurable ? shown : history.othersPart(of: shown, writer: open.number)
    try history.promise(promised, "process \(index) was shown commit \(promised)")
    let number = try walk(snapshot, floor: floor) { "what process \(index) sees" }
    guard number == shown, history.stands(number, on: before) else {
      throw CrashDeviation("process \(index) sees commit \(history.chain(number)) after \(history.chain(before))")
    }
    open.advance(to: number, history)
    return number
  }

  /// Reads record by record, while other threads go on in between.
  func walk(_ snapshot: borrowing Snapshot, floor: Int, _ what: () -> String) throws -> Int {
    let (sequence, state) = try CrashState.read(snapshot, withAssets: run.readsAssets) { record in
      run.scheduler.point()
      guard run.checksTags, let tag = record.metadata?.changeTag, let number = record["n"] as Int64? else { return }
      try history.check(changeTag: tag, of: "\(record.id)", version: number)
    }
    return try history.check(sequence, state, floor: floor, withAssets: run.readsAssets, what)
  }

  // MARK: the end

  func close() throws {
    guard let database = take(open) else { return }
    do { try database.close() } catch {
      guard run.hasFailures else { throw CrashDeviation("closing process \(index) throws \(error)") }
    }
  }

  /// After all writers have closed.
  func followToTheEnd() throws {
    guard member.role == .follower, let open else { return }
    do {
      try open.database.resume()
      try open.database.refresh()
    } catch { throw CrashDeviation("the last refresh of process \(index) throws \(error)") }
    try look(open, floor: history.present)
    try close()
  }
}
