import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

/// A database and its naive twin in lockstep: random transactions on both, the same questions asked of both; in between
/// the database is closed, killed, crashed, suspended, and its disk fills up or fails. Often several have the file open.
final class RecordTrial {
  struct Mismatch: Error, CustomStringConvertible { let description: String }

  /// A token, and what the twin knows of the place that it names.
  struct HeldToken {
    var token: ChangeToken
    var zone: Zone.ID?
    var life = 0
    var order = 0
    var sequence: UInt64
    /// What had been forgotten when the token was made.
    var horizon: UInt64
    /// The commit `sequence` was not seen as a whole.
    var isPartial = false
    /// A commit of the state that gave it is gone with a crash.
    var isForked = false
    /// The last commit of that state: tokens of pages in the middle of a feed name an earlier place.
    var state: UInt64 { token.parts.map { max($0.state, $0.sequence) } ?? 0 }
  }

  let seed: UInt64
  var stepCount = 0
  var generator: SeededGenerator
  let clock = TestClock()
  var disk: SimulatedDisk
  /// The one at work, of all that have the file open and are not suspended.
  var database: Database
  var openers: [Database]
  /// Counts how often the file was opened while no process had it open.
  var lifeCount = 0
  var model = ModelDatabase()
  /// What a crash may go back to, and the oldest commit that must survive one.
  var states: [UInt64: ModelDatabase] = [:]
  var floor: UInt64 = 0
  /// A sync was made to fail since the file was opened, maybe a checkpoint's: the next write may find the writer dead.
  var syncMayHaveFailed = false
  var clients: [ModelClient] = []
  var tokens: [HeldToken] = []
  var tags: Set<String> = []
  /// Read-only opens beside the writers.
  var readers: [ModelReader] = []
  /// The last states, for readers that lag.
  var recent: [UInt64: ModelDatabase] = [:]
  /// The one whose private database is the file, in every third trial.
  var container: Container?
  let path: String
  let contents: [ModelContent]

  let zones: [Zone.ID]
  let names =
    (0..<11).map { "record-\($0)" } + [
      "0B7E4C1A-0000-4000-8000-00000000ABCD", "0b7e4c1a-0000-4000-8000-00000000abcd", "00000000-0000-0000-0000-000000000000",
    ]
  let types = ["Note", "Movie", "A"]
  let keys = (0..<6).map { "k\($0)" }

  init(seed: UInt64) throws {
    self.seed = seed
    generator = SeededGenerator(seed: seed)
    disk = SimulatedDisk(seed: seed)
    contents = ModelContent.some
    path = seed % 3 == 0 ? "/trial/\(Self.containerID).private.daybook" : "trial.daybook"
    var options = Database.Options.simulated(seed: seed &+ 1, clock: clock)
    options.prefersIndexes = seed % 2 == 0
    if seed % 3 == 0 {
      let opened = try Container.open(Self.containerID, in: "/trial", options: options, disk: disk)
      container = opened
      database = opened.privateDatabase
    } else {
      database = try .open(at: path, options: options, disk: disk)
    }
    openers = [database]
    zones = try [.default, Zone.ID("A"), Zone.ID("Zoë"), Zone.ID("Zoe\u{308}"), Zone.ID("دفتر")]
    states[0] = model
  }

  /// What a run of some length has to have come by.
  enum Occasion: CaseIterable {
    case turn, suspension, refusedItem, reader, readerBehind, readerAlone, collection, missingContent, callers, account,
      indexBuilt, indexBuiltInPart, indexDropped, foundByIndex, orderedByIndex, foundByPlace,
      foundByWord
  }

  private(set) var occasions: [Occasion: Int] = [:]

  func note(_ occasion: Occasion) { occasions[occasion, default: 0] += 1 }

  static let containerID = "iCloud.com.example.Trial"

  // MARK: chance

  func chance(_ part: Int, in whole: Int) -> Bool { Int.random(in: 0..<whole, using: &generator) < part }
  func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &generator) }
  func pick<T>(_ list: [T]) -> T { list[Int.random(in: 0..<list.count, using: &generator)] }

  func require(_ condition: Bool, _ message: @autoclosure () -> String) throws {
    if !condition { throw Mismatch(description: message()) }
  }

  // MARK: the run

  /// Runs at least so many steps; the file is checked now and then and at the end.
  func run(_ wantedCount: Int) throws {
    var nextCheck = 200
    while stepCount < wantedCount {
      try changeOpener()
      switch number(0...99) {
      case 0..<53: try transaction()
      case 53..<55: try callers()
      case 55..<57: try collect()
      case 57..<60: try readBeside()
      case 60..<68: try request()
      case 68..<70: try writeWhileSuspended()
      case 70..<88: try feed()
      case 88..<91: try databaseFeed()
      case 91..<94: try synchronize()
      case 94..<96: try reopen()
      case 96..<98: try lose(crashes: chance(1, in: 2), mayGoBack: syncMayHaveFailed)
      case 98: try chance(1, in: 3) ? changeAccount() : compact()
      default: try compareAll()
      }
      if stepCount >= nextCheck {
        try check(.structure)
        nextCheck = stepCount + 200
      }
    }
    try changeOpener()
    try compareAll()
    try check(.deep)
    try reopen()
    try check(.deep)
  }

  func check(_ depth: Database.CheckDepth) throws {
    let report = try database.check(depth)
    try require(report.isClean, "check: \(report.findings)")
  }

  // MARK: transactions

  func transaction() throws {
    stepCount += 1
    var next = model
    next.sequence += 1
    let isFaulty = chance(1, in: 14)
    let failsSync = isFaulty && chance(1, in: 3)
    if isFaulty { arm(failsSync: failsSync) }
    let throwsAtEnd = chance(1, in: 9)
    do {
      try database.write { transaction in
        next.date = clock.date
        for _ in 0..<number(1...5) { try operation(transaction, &next, depth: 0) }
        if throwsAtEnd { throw Intended() }
      }
      disarm()
      try require(next.dangling.isEmpty, "committed with \(next.dangling)")
      guard next.order != model.order else { return try expectSequence() }
      model = next
      keepState()
      try expectSequence()
    } catch is Intended {
      disarm()
      try expectSequence()
    } catch let error as DatabaseError {
      disarm()
      switch error.code {
      case .outcomeUnknown:
        try require(syncMayHaveFailed, "an unknown outcome without a failed sync: \(error)")
        if next.order != model.order { states[next.sequence] = next }
        try lose(crashes: chance(1, in: 2), mayGoBack: true)
      case .referenceViolation:
        let (source, target) = (error.facts.source, error.facts.target)
        try require(
          next.dangling.contains { $0.source == source && $0.target == target }, "dangling \(next.dangling): \(error)")
        try expectSequence()
      case .ioFailed where !isFaulty && syncMayHaveFailed:
        // A failed sync is told to each opener's own description, and one of an asset ends taking assets in.
        try lose(crashes: chance(1, in: 2), mayGoBack: true)
      case .diskFull, .ioFailed:
        try require(isFaulty, "an error out of nothing: \(error)")
        try expectSequence()
      default:
        throw Mismatch(description: "a transaction threw \(error)")
      }
    }
  }

  func arm(failsSync: Bool) {
    if failsSync {
      syncMayHaveFailed = true
      let loss: SimulatedFault.SyncLoss = chance(1, in: 2) ? .dropsPages : .keepsPages
      disk.inject(SimulatedFault([.sync], call: number(1...2), syncLoss: loss))
    } else if chance(1, in: 2) {
      disk.inject(
        SimulatedFault([.write], call: number(1...3), code: chance(1, in: 2) ? ErrorNumber.noSpace : ErrorNumber.inputOutput))
    } else {
      disk.limit(toByteCount: disk.paths.reduce(0) { $0 + (disk.bytes(of: $1)?.count ?? 0) } + number(0...600))
    }
  }

  func disarm() {
    disk.removeFaults()
    disk.limit(toByteCount: nil)
  }

  func keepState() {
    states[model.sequence] = model
    recent[model.sequence] = model
    recent[model.sequence &- 40] = nil
    if database.options.durability != .relaxed || database.options.lock == .perTransaction { raiseFloor() }
  }

  func raiseFloor() {
    floor = model.sequence
    states = states.filter { $0.key >= floor }
  }

  func expectSequence() throws {
    let sequence = try database.snapshot().sequence
    try require(sequence == model.sequence, "last commit \(sequence), expected \(model.sequence)")
  }
}
