#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import Daybook
import DaybookEngine

/// Opens what a crash left and compares it with the promises: it must be the complete state after some commit, with everything
/// acknowledged, no deleted record back, and nothing taken for corruption. A token that an application keeps must be accepted
/// if its commit is there, and refused if a crash has lost it.
struct CrashVerifier {
  let settings: CrashSettings
  var expectation: CrashExpectation

  struct Found: Sendable {
    let sequence: Int
    let stateHash: Int
    /// How many crashes led to the image: 1 for a crash of a run, more for crashes of recoveries.
    var level = 1
  }

  /// - Parameter observer: sees the calls that recovery makes.
  func verify(
    _ image: SimulatedDisk, thoroughly: Bool, observer: (@Sendable (SimulatedCall) throws(DiskFailure) -> Void)? = nil
  ) throws -> Found {
    // In any case, nobody may write to this image after it was examined.
    defer { image.stop() }
    guard try image.exists(CrashRun.path) else {
      if expectation.mustExist { throw CrashDeviation("the file is gone") }
      return Found(sequence: 0, stateHash: CrashState().hashValue)
    }
    image.observe(observer)
    let database: Database
    do { database = try open(image, 1000) } catch { throw CrashDeviation("open throws \(error)") }
    image.observe(nil)
    try CrashImage.expectNoLeftovers(of: CrashRun.path, on: image)
    let (sequence, state) = try compare(database, exactly: nil)
    try verifyCopy(image)
    if thoroughly {
      try CrashImage.expectClean(database)
      try CrashState.expectOnlyNamedFiles(database)
      // What was shown must survive a power failure right now.
      try expectAfterPowerLoss(image, sequence)
      try goOn(database, image, sequence)
    }
    return Found(sequence: sequence, stateHash: state.hashValue)
  }

  /// Checks an image that was examined before: the bytes are the same, but more may be promised since.
  func check(_ found: Found) throws {
    guard found.sequence >= expectation.acknowledged else {
      throw CrashDeviation("commit \(expectation.acknowledged) was acknowledged, the database ends with \(found.sequence)")
    }
    guard found.sequence < expectation.history.count,
      expectation.history.hash(at: found.sequence) == found.stateHash
    else { throw CrashDeviation("commit \(found.sequence) is not what was committed") }
  }

  private func open(_ image: SimulatedDisk, _ number: UInt64) throws -> Database {
    try Database.open(at: CrashRun.path, options: settings.options(open: number), disk: image)
  }

  private func compare(_ database: Database, exactly sequence: Int?) throws -> (sequence: Int, state: CrashState) {
    let (found, state) = try CrashState.read(database)
    if let sequence, found != sequence {
      throw CrashDeviation("commit \(sequence) was shown, after the next crash it is commit \(found)")
    }
    guard found >= expectation.acknowledged else {
      throw CrashDeviation("commit \(expectation.acknowledged) was acknowledged, the database ends with \(found)")
    }
    guard found < expectation.history.count, state == expectation.history[found] else {
      let expected = found < expectation.history.count ? "\(expectation.history[found])" : "no such commit"
      throw CrashDeviation("commit \(found) shows \(state), expected \(expected)")
    }
    if database.lastRecovery.tellsOfDamage {
      throw CrashDeviation("a crash was taken for corruption: \(database.lastRecovery)")
    }
    try checkTokens(database, found)
    return (found, state)
  }

  /// The backup must be a complete copy of some moment, or missing; once a backup has returned, it must be that one.
  private func verifyCopy(_ image: SimulatedDisk) throws {
    guard try image.exists(CrashRun.copyPath) else {
      if expectation.copy != nil { throw CrashDeviation("the backup is gone") }
      return
    }
    var options = settings.options(open: 1003)
    options.isReadOnly = true
    let copy: Database
    do { copy = try Database.open(at: CrashRun.copyPath, options: options, disk: image) } catch {
      throw CrashDeviation("opening the backup throws \(error)")
    }
    let state = try CrashState.read(copy).state
    let allowed = expectation.copy.map { [$0] } ?? expectation.copies
    guard copy.lastRecovery.wasClosed, allowed.contains(state) else {
      throw CrashDeviation("the backup shows \(state)")
    }
  }

  private func checkTokens(_ database: Database, _ sequence: Int) throws {
    func code(_ token: ChangeToken) -> DatabaseError.Code? {
      do throws(DatabaseError) {
        _ = try database.databaseChanges(since: token)
        return nil
      } catch { return error.code }
    }
    let horizon = expectation.history[min(sequence, expectation.history.count - 1)].horizon
    for held in expectation.tokens {
      let found = code(held.token)
      let isRight =
        if held.sequence > sequence { found == .changeTokenForked } else {
          found == nil || held.sequence < horizon && found == .changeTokenExpired
        }
      if !isRight {
        throw CrashDeviation(
          "the token of commit \(held.sequence) at commit \(sequence): \(found.map { "\($0)" } ?? "accepted")")
      }
    }
    for token in expectation.lostTokens where code(token) != .changeTokenForked {
      throw CrashDeviation("the token of a commit that a crash took is \(code(token).map { "\($0)" } ?? "accepted")")
    }
  }

  private func expectAfterPowerLoss(_ image: SimulatedDisk, _ sequence: Int) throws {
    let after = image.crashed(seed: image.seed, policy: .none)
    defer { after.stop() }
    _ = try compare(try open(after, 1001), exactly: sequence)
  }

  /// Work goes on: new commits survive, tokens advance, tokens of lost commits stay refused.
  private func goOn(_ database: Database, _ image: SimulatedDisk, _ sequence: Int) throws {
    var verifier = self
    verifier.expectation.goBack(to: sequence)
    let zone = try Zone.ID("after")
    for step in 1...2 {
      let entry = CrashState.Entry(number: Int64(step), byteCount: 30)
      try database.write { transaction in
        try transaction.save(Zone(zone))
        var record = try Record(type: "Note", id: Record.ID("a", in: zone))
        record["n"] = entry.number
        CrashIndex.set(&record, entry.number)
        record["b"] = CrashState.content(of: entry)
        try transaction.save(record, policy: .changedKeys)
      }
      verifier.append { $0.save("a", in: zone.name, entry) }
      let token = try database.databaseChanges(since: nil).token
      guard token.parts?.sequence == UInt64(sequence + step) else { throw CrashDeviation("tokens do not go on") }
    }
    if settings.durability == .relaxed { try database.sync() }
    _ = try verifier.compare(database, exactly: sequence + 2)
    try verifier.expectAfterPowerLoss(image, sequence + 2)
    try database.close()
    let reopened = try open(image, 1002)
    guard reopened.lastRecovery.wasClosed else { throw CrashDeviation("a closed database does not look closed") }
    _ = try verifier.compare(reopened, exactly: sequence + 2)
    try CrashImage.expectClean(reopened)
    try reopened.close()
  }
}

extension CrashVerifier {
  /// One more commit, acknowledged.
  fileprivate mutating func append(_ change: (inout CrashState) -> Void) {
    var next = expectation.history.last
    change(&next)
    expectation.history.append(next)
    expectation.acknowledged += 1
  }
}
