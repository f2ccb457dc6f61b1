import Daybook
import DaybookEngine

/// Opens what a crash of all processes left and compares it with all promises: it must be the state after one commit, including
/// all that was acknowledged or shown, with nothing taken for corruption and a clean check, and work must go on.
struct ProcessVerifier {
  let settings: ProcessSettings
  let history: ProcessHistory
  let copies: [Int: Int]
  /// The commit that must be there.
  let floor: Int

  init(_ run: ProcessRun, isKill: Bool) {
    settings = run.settings
    history = run.history
    copies = run.copies
    floor = isKill ? run.history.present : run.history.durable
  }

  /// Verifies an image and returns the commit that it shows.
  /// - Parameter variant: which way of opening it is used.
  func verify(_ image: SimulatedDisk, variant: UInt64, isThorough: Bool) throws -> Int {
    defer { image.stop() }
    guard try image.exists(ProcessRun.path) else {
      // Before its first commit nothing was promised of a file whose creator may have failed.
      if history.durable > 0 { throw CrashDeviation("the file is gone") }
      return 0
    }
    var shown: Int?
    // Sometimes a reader comes first, and what it was shown must stay.
    if variant % 4 == 0 { shown = try read(open(image, .follower, variant, 1000), floor: floor, "a reader") }
    if variant % 8 == 0, let shown { try expectAfterPowerLoss(image, shown) }
    let database = try open(image, variant % 3 == 0 ? .sharer : .soleWriter, variant, 1001)
    let number = try read(database, floor: max(floor, shown ?? 0), "the file")
    try CrashImage.expectNoLeftovers(of: ProcessRun.path, on: image)
    try verifyCopies(image)
    if isThorough {
      try CrashImage.expectClean(database)
      try expectAfterPowerLoss(image, number)
      try goOn(database, image, number)
    }
    return number
  }

  private func open(_ image: SimulatedDisk, _ role: ProcessSettings.Role, _ variant: UInt64, _ number: UInt64) throws
    -> Database
  {
    var member = settings.members[Int(variant % UInt64(settings.members.count))]
    member.role = role
    do { return try Database.open(at: ProcessRun.path, options: settings.options(member, open: number), disk: image) } catch {
      throw CrashDeviation("open as \(role.rawValue) throws \(error)")
    }
  }

  private func read(_ database: Database, floor: Int, _ what: String) throws -> Int {
    if database.lastRecovery.tellsOfDamage {
      throw CrashDeviation("a crash was taken for corruption: \(database.lastRecovery)")
    }
    let (sequence, state) = try CrashState.read(database)
    return try history.check(sequence, state, floor: floor) { what }
  }

  private func verifyCopies(_ image: SimulatedDisk) throws {
    for actor in settings.homes.indices {
      let path = ProcessRun.copyPath(actor)
      guard try image.exists(path) else {
        if copies[actor] != nil { throw CrashDeviation("the copy \(path) is gone") }
        continue
      }
      let reader = ProcessSettings.Member(role: .follower)
      let copy: Database
      do { copy = try Database.open(at: path, options: settings.options(reader, open: 1004), disk: image) } catch {
        throw CrashDeviation("opening the copy \(path) throws \(error)")
      }
      let number = try read(copy, floor: 0, "the copy \(path)")
      if let made = copies[actor], made != number {
        throw CrashDeviation("the copy \(path) shows commit \(number), it was made of commit \(made)")
      }
    }
  }

  /// What was shown must survive a power failure right now.
  private func expectAfterPowerLoss(_ image: SimulatedDisk, _ shown: Int) throws {
    let after = image.crashed(seed: image.seed, policy: .none)
    defer { after.stop() }
    _ = try read(open(after, .soleWriter, 0, 1002), floor: shown, "after the next power loss the file")
  }

  /// Two more commits must survive, and a clean close must be recognized.
  private func goOn(_ database: Database, _ image: SimulatedDisk, _ number: Int) throws {
    let id = try Record.ID("after")
    for step in 1...2 {
      try database.write { transaction in
        var record = try transaction.record(id) ?? Record(type: "Note", id: id)
        record["n"] = step
        try transaction.save(record)
      }
    }
    try database.sync()
    func look(_ database: Database) throws {
      let (sequence, state) = try CrashState.read(database)
      guard try database.record(id)?["n"] == 2, sequence == history.attempts[number].sequence + 2 else {
        throw CrashDeviation("two commits on top of commit \(number) are not there")
      }
      guard state == history.attempts[number].state else { throw CrashDeviation("two more commits changed others: \(state)") }
    }
    let after = image.crashed(seed: image.seed, policy: .none)
    try look(open(after, .soleWriter, 0, 1003))
    after.stop()
    try database.close()
    let reopened = try open(image, .soleWriter, 0, 1005)
    guard reopened.lastRecovery.wasClosed else { throw CrashDeviation("a closed database does not look closed") }
    try look(reopened)
    try CrashImage.expectClean(reopened)
    try reopened.close()
  }
}
