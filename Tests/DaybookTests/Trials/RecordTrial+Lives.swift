import DaybookTesting
import Foundation

@testable import Daybook
@testable import DaybookEngine

/// Closing, killing, crashing, compacting: what ends a life of the file, and begins the next.
extension RecordTrial {
  func synchronize() throws {
    if syncMayHaveFailed { return try lose(crashes: chance(1, in: 2), mayGoBack: true) }
    stepCount += 1
    try database.sync()
    raiseFloor()
  }

  /// The same records in a new file; older versions of them are gone.
  func compact() throws {
    if syncMayHaveFailed { return try lose(crashes: chance(1, in: 2), mayGoBack: true) }
    stepCount += 1
    try database.compact()
    for (zone, trees) in model.zones {
      for (name, row) in trees.rows { model.zones[zone]?.rows[name]?.versions = [row.current] }
    }
    keepState()
    // Readers that lag may see what was in the old file, or come to the new one.
    recent = [model.sequence: model]
    raiseFloor()
    try compareAll()
  }

  func someOptions() -> Database.Options {
    var options = Database.Options.simulated(seed: generator.next(), clock: clock)
    options.durability = chance(1, in: 2) ? .full : .relaxed
    options.padding = chance(1, in: 4)
    options.lock = chance(1, in: 3) ? .perTransaction : .whileOpen
    options.partByteCount = chance(1, in: 2) ? 1 << 10 : 8 << 20
    options.closeCheckpointByteCount = chance(1, in: 2) ? 0 : 1 << 20
    options.checkpoint.minimumLogByteCount = pick([4 << 10, 16 << 10, 1 << 20])
    options.inlineAssetByteCount = pick([0, 100, 4 << 10])
    options.prefersIndexes = chance(2, in: 3)
    // Without a background thread no notes are written, so readers would wait in vain.
    options.proofTimeout = .zero
    // All openers are in this thread: one that has to wait for the lock would never get it.
    options.lockTimeout = .zero
    return options
  }

  /// Other options, on whatever disk there is now; where writers share the file often several.
  func openAgain() throws {
    let options = someOptions()
    lifeCount += 1
    if path == "trial.daybook" {
      database = try .open(at: path, options: options, disk: disk)
    } else {
      let opened = try Container.open(Self.containerID, in: "/trial", options: options, disk: disk)
      if let container { try require(opened.userRecordName == container.userRecordName, "another user") }
      container = opened
      database = opened.privateDatabase
    }
    openers = [database]
    syncMayHaveFailed = false
  }

  func reopen() throws {
    if syncMayHaveFailed { return try lose(crashes: chance(1, in: 2), mayGoBack: true) }
    stepCount += 1
    for opener in openers.shuffled(using: &generator) {
      try opener.close()
      let error = try codeOf { _ = try opener.zones() }
      try require(error == .closed, "a closed database answers")
    }
    try container?.close()
    try readAlone()
    try openAgain()
    try require(database.lastRecovery.wasClosed, "a closed file: \(database.lastRecovery)")
    try expectSequence()
    raiseFloor()
    try openBeside()
  }

  /// The process or the system goes down. At `.relaxed` a crash may go back to any commit since the last sync; a failed
  /// sync leaves the choice to the disk in any case.
  func lose(crashes: Bool, mayGoBack: Bool) throws {
    stepCount += 1
    disk.stop()
    readers = []
    // Values in memory go with their process; these would ask it for their bytes.
    clients.removeAll { !ModelContent.names(in: $0.record.values).isEmpty }
    disk = crashes ? disk.crashed(seed: generator.next()) : disk.killed()
    try openAgain()
    let sequence = try database.snapshot().sequence
    guard sequence >= floor, let state = states[sequence] else {
      throw Mismatch(description: "reopened at \(sequence), expected \(floor) to \(model.sequence)")
    }
    if !crashes, !mayGoBack { try require(sequence == model.sequence, "a kill lost commits: \(sequence) of \(model.sequence)") }
    model = state
    // Numbers above that belong to a history that is lost, and some of them are not kept again.
    recent = recent.filter { $0.key < sequence }
    recent[sequence] = state
    try openBeside()
    for index in tokens.indices where tokens[index].state > sequence { tokens[index].isForked = true }
    raiseFloor()
    try compareAll()
  }
}
