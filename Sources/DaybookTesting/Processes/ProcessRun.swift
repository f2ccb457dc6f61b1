import Daybook
import DaybookEngine

/// Several processes and threads on one simulated disk, under one schedule, and what they have been promised so far.
///
/// Always true: while `onMoment` is called, all actors wait before a disk call, and `history` says what a crash there may
/// leave.
final class ProcessRun: @unchecked Sendable {
  static let path = "a.daybook"
  static func copyPath(_ actor: Int) -> String { "b\(actor).daybook" }

  let settings: ProcessSettings
  let scripts: [[ProcessStep]]
  let scheduler: Scheduler
  let history = ProcessHistory()
  private(set) var disk: SimulatedDisk
  private(set) var finding: String?
  private(set) var isPowerOut = false
  /// Commits that copies show: of those that were made to the end.
  var copies: [Int: Int] = [:]
  /// A collection without a grace time may remove contents that readers in other processes still use.
  let readsAssets: Bool
  var checksTags = false
  /// Called with the number of the point; the last time after all have ended.
  var onMoment: ((ProcessRun, Int) -> Void)?
  /// One call that changes the disk in so many is a moment.
  var momentsOneIn = 1
  private var processes: [SimulatedProcess] = []
  private var actors: [ProcessActor] = []
  private var disks: [ProcessDisk] = []
  private var openCount: UInt64 = 0
  private var pastFailureCount = 0
  private var hasBeenFull = false
  private var lossCount: UInt64 = 0
  private var examinedPromiseCount = 0
  private var momentGenerator: SeededGenerator

  init(_ settings: ProcessSettings, _ scripts: [[ProcessStep]], _ schedule: Schedule) {
    self.settings = settings
    self.scripts = scripts
    scheduler = Scheduler(schedule, decidesWaits: settings.hasThreads)
    disk = SimulatedDisk(seed: settings.seed, sectorByteCount: settings.sectorByteCount, maximumFileByteCount: 2 << 20)
    if settings.cutsTransfers { disk.cutTransfers() }
    if settings.copiesOnWrite { disk.copyOnWrite() }
    readsAssets = !scripts.joined().contains { $0.action == .collect }
    momentGenerator = SeededGenerator(seed: settings.seed &+ 0xCA11)
  }

  private static let abandoned = Locked<[ProcessRun]>([])

  /// Plays all scripts to their ends and then looks at what is left; `finding` says what went wrong.
  func play() {
    scheduler.wantsLookBefore = { [unowned self] call in isMoment(before: call) }
    scheduler.look = { [unowned self] in onMoment?(self, scheduler.pointCount) }
    scheduler.changeWorld = { [unowned self] in restorePower() }
    processes = settings.members.indices.map { SimulatedProcess($0, self) }
    actors = settings.homes.enumerated().map { ProcessActor($0, processes[$1], scripts[$0], self) }
    let bodies = actors.map { actor in { @Sendable in actor.play() } }
    guard scheduler.run(bodies) else {
      // Its threads may go on for some time, and access this object.
      ProcessRun.abandoned.withLock { $0.append(self) }
      return fail(scheduler.standstill ?? "somebody waits for what never comes")
    }
    if finding == nil { finish() }
    for actor in actors { actor.leave() }
    disk.stop()
  }

  func fail(_ message: String) {
    finding = finding ?? message
    // Waiting actors are released by the errors of a dead disk.
    for disk in disks { disk.die() }
  }

  // MARK: for the actors

  func makeDisk(for process: Int) -> ProcessDisk {
    let made = ProcessDisk(disk, scheduler: scheduler)
    if process == 0 {
      made.ignoresSyncs = settings.mistake == .ignoresSyncs
      made.ignoresLocks = settings.mistake == .ignoresLocks
    }
    made.onFailure = { [unowned self] in if hasDroppedPages { history.dropPresent() } }
    made.onUnprotectedMap = { [unowned self] path in
      if path == Self.path { fail("process \(process) maps \(path), and says to nobody that it reads or writes it") }
    }
    disks.append(made)
    return made
  }

  func nextOpen() -> UInt64 {
    openCount += 1
    return openCount
  }

  func limit(_ byteCount: Int?) {
    hasBeenFull = hasBeenFull || byteCount != nil
    let used = disk.paths.reduce(0) { $0 + (disk.bytes(of: $1)?.count ?? 0) }
    disk.limit(toByteCount: byteCount.map { used + $0 })
  }

  /// Whether calls have failed, so that disk errors have a reason.
  var hasFailures: Bool { hasBeenFull || disks.contains { $0.failureCount > 0 } }

  /// Whether the cache may have lost pages.
  var hasDroppedPages: Bool {
    hasFailures && scripts.joined().contains { if case .fail(let fault) = $0.action { fault.dropsPages } else { false } }
  }

  // MARK: moments

  private func isMoment(before call: SimulatedCall?) -> Bool {
    if scheduler.hasRunInCircles { fail("so many calls: somebody runs in circles") }
    if hasDroppedPages { history.dropPresent() }
    if let loss = settings.powerLoss, scheduler.pointCount == loss {
      isPowerOut = true
      for disk in disks { disk.die() }
    }
    // Between two calls the disk does not change, but the promises may grow.
    let promises = history.promiseCount
    let mayDiffer = call?.isCounted ?? (promises != examinedPromiseCount)
    guard finding == nil, onMoment != nil, mayDiffer, !isPowerOut else { return false }
    if call == nil { examinedPromiseCount = promises }
    return Int.random(in: 0..<momentsOneIn, using: &momentGenerator) == 0
  }

  private func restorePower() {
    isPowerOut = false
    lossCount += 1
    let before = disk
    disk = before.crashed(seed: settings.seed &+ lossCount)
    before.stop()
    if settings.cutsTransfers { disk.cutTransfers() }
    if settings.copiesOnWrite { disk.copyOnWrite() }
    disks.removeAll { !($0.failureCount > 0) }
    history.losePower()
    copies.removeAll()
  }

  // MARK: the end

  private func finish() {
    if isPowerOut { restorePower() }
    disk.limit(toByteCount: nil)
    do {
      for actor in actors { try actor.finish() }
      for process in processes where process.member.role != .follower { try process.close() }
      onMoment?(self, scheduler.pointCount + 1)
      if finding != nil { return }
      for process in processes { try process.followToTheEnd() }
      try lookAtTheEnd()
    } catch { fail("in the end: \(error)") }
  }

  private func lookAtTheEnd() throws {
    guard history.wasCreated else { return }
    let last = ProcessDisk(disk, scheduler: scheduler)
    defer { last.die() }
    let writer = ProcessSettings.Member(role: .soleWriter)
    let database: Database
    let options = settings.options(writer, open: nextOpen())
    do { database = try Database.open(at: Self.path, options: options, disk: last) } catch {
      throw CrashDeviation("everybody has closed, and open throws \(error)")
    }
    if database.lastRecovery.tellsOfDamage { throw CrashDeviation("open takes a crash for corruption") }
    let (sequence, state) = try CrashState.read(database)
    try history.check(sequence, state, floor: history.present) { "the file" }
    try CrashImage.expectClean(database)
    try database.compact()
    let (_, compacted) = try CrashState.read(database)
    if compacted != state { throw CrashDeviation("compacted, the file shows \(compacted), expected \(state)") }
    try database.close()
  }

  /// The commit that a copy shows, which must be based on `floor`.
  func readCopy(_ path: String, on disk: SimulatedDisk, floor: Int) throws -> Int {
    let reader = ProcessSettings.Member(role: .follower)
    let copy: Database
    do { copy = try Database.open(at: path, options: settings.options(reader, open: 900), disk: disk) } catch {
      throw CrashDeviation("opening the copy \(path) throws \(error)")
    }
    let (sequence, state) = try CrashState.read(copy)
    guard copy.lastRecovery.wasClosed else { throw CrashDeviation("the copy \(path) does not look closed") }
    return try history.check(sequence, state, floor: floor) { "the copy \(path)" }
  }
}
