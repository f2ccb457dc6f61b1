import Daybook
import DaybookEngine

/// What an application does beside its open database: it opens the file again to read, salvages it, and prepares assets that a
/// later transaction saves.
extension ProcessActor {
  /// What the second open shows is based on what was there before, and durable once it was shown.
  func peek() throws {
    let (present, durable) = (history.present, history.durable)
    let options = run.settings.options(.init(role: .follower), open: run.nextOpen())
    let database = try Database.open(at: ProcessRun.path, options: options, disk: disk)
    defer { try? database.close() }
    let isBehind = database.store.recovery.isBehindWriter
    if database.lastRecovery.tellsOfDamage { throw CrashDeviation("a second open takes a crash for corruption") }
    let floor = isBehind ? 0 : run.hasDroppedPages ? durable : present
    let number = try process.walk(try database.snapshot(), floor: floor) {
      "what a second open of process \(process.index) sees"
    }
    if disk.isDead { return }
    try history.promise(number, "a second open was shown commit \(number)")
  }

  /// A salvage of a sound file has all of it, and says so.
  func salvage() throws {
    let path = "s\(index).daybook"
    if try disk.exists(path) { try disk.remove(path) }
    try AssetStore.removeAll(path + ".assets", on: disk)
    let present = run.hasDroppedPages ? history.durable : history.present
    let options = run.settings.options(.init(role: .soleWriter), open: run.nextOpen())
    let report = try Database.salvage(from: ProcessRun.path, to: path, options: options, disk: disk)
    if disk.isDead { return }
    guard report.lostSequences.isEmpty, report.skippedOperationCount == 0 else {
      throw CrashDeviation("a salvage of a sound file says \(report)")
    }
    let copy = try Database.open(
      at: path, options: run.settings.options(.init(role: .follower), open: run.nextOpen()), disk: run.disk)
    let (_, state) = try CrashState.read(copy, withAssets: false)
    let number = Int(state.step)
    let expected = history.attempts[number].state
    func numbers(_ state: CrashState) -> [String: [String: Int64]] { state.zones.mapValues { $0.records.mapValues(\.number) } }
    guard history.stands(number, on: present), numbers(expected) == numbers(state) else {
      throw CrashDeviation("a salvage shows \(state) on \(history.chain(number)), expected \(expected) on \(present)")
    }
    try copy.close()
  }

  func prepare(_ content: Int, _ open: ProcessOpen) throws {
    prepared = nil
    prepared = (try open.database.prepare(Asset(data: CrashState.assetContent(content))), content, open)
  }

  func savePrepared(in zone: String, as name: String, _ open: ProcessOpen) throws {
    guard let prepared else { return }
    try write(open) { state, number, transaction in
      let entry = CrashState.Entry(number: Int64(number), byteCount: 40, asset: prepared.content)
      let id = try Zone.ID(zone)
      try transaction.save(Zone(id))
      run.scheduler.point()
      state.save(name, in: zone, entry)
      var record = try CrashRun.record(name, id, entry)
      record["a"] = prepared.asset
      try transaction.save(record, policy: .changedKeys)
    }
  }
}
