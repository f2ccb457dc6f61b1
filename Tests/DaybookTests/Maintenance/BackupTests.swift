import DaybookEngine
import DaybookTesting
import Foundation
import Testing

@testable import Daybook

// A backup is the database of one moment: the same records, tokens and history, in a file of its own.

@Suite("Backup")
struct BackupTests {
  private let path = "test.daybook"

  private func filled(_ disk: SimulatedDisk) throws -> Database {
    let database = try Database.open(on: disk) {
      $0.partByteCount = 1500
      $0.reserveByteCount = 0
    }
    let zone = try database.zone("Shelf")
    let gone = try database.zone("Gone")
    for number in 0..<30 { try database.put("r\(number % 11)", in: zone, ["n": .int(Int64(number))]) }
    try database.put("x", in: gone)
    try database.write { transaction in
      for number in 0..<60 { try transaction.save(.fresh("big\(number)", ["text": .string("text of \(number)")])) }
      try? transaction.savepoint {
        for number in 0..<40 { try transaction.save(.fresh("not\(number)")) }
        throw CancellationError()
      }
    }
    try database.write { try $0.delete(Record.ID("r3", in: zone)) }
    try database.put("r3", in: zone, ["n": 333])
    try database.write { try $0.delete(Record.ID("r5", in: zone)) }
    try database.write { try $0.deleteZone(gone) }
    try database.write { try $0.setMetadata(Data([7]), forKey: "m") }
    try database.write { try $0.forgetDeletions(through: 5) }
    return database
  }

  private func opened(_ disk: SimulatedDisk, _ target: String = "copy", seed: UInt64 = 9) throws -> Database {
    try Database.open(at: target, options: .simulated(seed: seed), disk: disk)
  }

  @Test("a commit that needed more memory than who copies it has is copied, by a backup, a salvage and a compaction")
  func largeCommit() throws {
    let disk = SimulatedDisk(seed: 4, maximumFileByteCount: 32 << 20)
    do {
      let database = try Database.open(on: disk)
      try database.write { transaction in
        for number in 0..<3000 { try transaction.save(.fresh("record number \(number)")) }
      }
      try database.close()
    }
    let database = try Database.open(on: disk) { $0.checkpoint.memoryByteCount = 128 << 10 }
    try database.backup(to: "copy", disk: disk)
    let copy = try opened(disk)
    #expect(try copy.recordCount(in: .default) == 3000)
    try copy.expectClean()
    try database.compact()
    try database.expectClean()
    try database.close()
  }

  @Test("a backup of a live database opens to a commit of the moment: records, history, tokens and metadata")
  func equal() throws {
    let disk = SimulatedDisk(seed: 41)
    let database = try filled(disk)
    let zone = try Zone.ID("Shelf")
    let token = try database.changes(in: zone, since: nil).token
    let feed = try database.databaseChanges(since: nil)
    try database.backup(to: "copy", disk: disk)
    try database.put("later", in: zone)
    let copy = try opened(disk)
    #expect(copy.id == database.id && copy.lastRecovery.wasClosed)
    let records = try copy.records(in: zone)
    let originals = try database.records(in: zone).filter { $0.id.name != "later" }
    #expect(records == originals)
    #expect(records.map(\.metadata) == originals.map(\.metadata))
    #expect(try copy.records(in: .default) == database.records(in: .default))
    for name in ["r1", "r3", "r5"] {
      let id = try Record.ID(name, in: zone)
      #expect(try copy.history(of: id).map(\.sequence) == database.history(of: id).map(\.sequence), "\(name)")
    }
    #expect(try copy.changes(in: zone, since: token).saved.isEmpty)
    #expect(try copy.databaseChanges(since: nil).changed == feed.changed)
    #expect(try copy.metadata(forKey: "m") == Data([7]))
    try copy.expectClean()
    try database.expectClean()
  }

  @Test("once both went on, tokens of one are refused by the other")
  func forked() throws {
    let disk = SimulatedDisk(seed: 42)
    let database = try filled(disk)
    let zone = try Zone.ID("Shelf")
    try database.backup(to: "copy", disk: disk)
    let copy = try opened(disk)
    try database.put("here", in: zone)
    try copy.put("there", in: zone)
    let token = try database.changes(in: zone, since: nil).token
    #expect(failure { try copy.changes(in: zone, since: token) }?.code == .changeTokenForked)
  }

  @Test("a backup that is cut off anywhere leaves nothing under its name, and can be made again", arguments: [false, true])
  func interrupted(loses: Bool) throws {
    let disk = SimulatedDisk(seed: 43)
    let database = try filled(disk)
    let expected = try database.records(in: .default)
    try database.sync()
    let first = disk.callCount
    let trial = disk.killed()
    let source = try opened(trial, path, seed: 3)
    let start = trial.callCount
    try source.backup(to: "copy", disk: trial)
    let calls = trial.callCount - start
    #expect(calls > 8 && first > 0)
    for call in 1...calls {
      let image = disk.killed()
      let source = try opened(image, path, seed: 3)
      image.stop(atCall: image.callCount + call)
      let hasFailed = failure { try source.backup(to: "copy", disk: image) } != nil
      let found = loses ? image.crashed(seed: UInt64(call)) : image.killed()
      // What comes after the name is durable is no reason to fail.
      #expect(try hasFailed || found.exists("copy"))
      let again = try opened(found, path, seed: 4)
      if try found.exists("copy") {
        // The rename had happened: then it is whole.
        #expect(try opened(found, "copy", seed: 5).records(in: .default) == expected)
      } else {
        try again.backup(to: "copy", disk: found)
        #expect(!found.paths.contains("copy.unfinished"))
        #expect(try opened(found, "copy", seed: 5).records(in: .default) == expected)
      }
    }
  }

  @Test("two backups to one name at one time: one is whole, the other is refused")
  func twoAtOnce() throws {
    let disk = SimulatedDisk(seed: 45)
    let database = try filled(disk)
    let expected = try database.records(in: .default)
    let (outcome, isOver) = (Locked<Result<Void, any Error>?>(nil), Locked(false))
    let others = Locked<BackgroundThread?>(nil)
    let hasBegun = Locked(false)
    // When the first is about to give its copy the name, a second one begins, and gets as far as it can meanwhile.
    let watched = RenamingDisk(disk) { source in
      guard source == "copy.unfinished", others.withLock({ $0 == nil }) else { return }
      others.withLock {
        $0 = BackgroundThread(name: "second backup", stackByteCount: 4 << 20) {
          let result = Result {
            try database.backup(to: "copy", disk: disk) { done, _ in
              if done < 9 { return true }
              hasBegun.withLock { $0 = true }
              while !isOver.withLock({ $0 }) { Thread.sleep(forTimeInterval: 0.001) }
              return false
            }
          }
          outcome.withLock { $0 = result }
        }
      }
      while !hasBegun.withLock({ $0 }), outcome.withLock({ $0 == nil }) { Thread.sleep(forTimeInterval: 0.001) }
    }
    try database.backup(to: "copy", disk: watched)
    isOver.withLock { $0 = true }
    others.withLock { $0 }?.join()
    #expect(!hasBegun.withLock { $0 }, "the second one works at a copy under the first one's name")
    #expect(throws: DatabaseError.self) { try outcome.withLock { $0 }?.get() }
    let copy = try opened(disk)
    #expect(try copy.records(in: .default) == expected)
    try copy.expectClean()
    #expect(try !disk.exists("copy.unfinished"))
  }

  @Test("a backup of a damaged database is refused, one that is cancelled or finds no room leaves nothing")
  func refused() throws {
    let disk = SimulatedDisk(seed: 44)
    let database = try filled(disk)
    let names = disk.paths
    #expect(failure { try database.backup(to: "copy", disk: disk) { done, _ in done < 9 } }?.code == .operationCancelled)
    #expect(disk.paths == names)
    disk.limit(toByteCount: 9000)
    #expect(failure { try database.backup(to: "copy", disk: disk) }?.code == .diskFull)
    disk.limit(toByteCount: nil)
    #expect(disk.paths == names)
    disk.install([1], at: "copy")
    #expect(failure { try database.backup(to: "copy", disk: disk) }?.code == .ioFailed)
    #expect(disk.bytes(of: "copy") == [1])
    let position = try #require(disk.bytes(of: path)?.firstRange(of: Array("text of 30".utf8))).lowerBound
    #expect(disk.corrupt(path, at: position))
    #expect(failure { try database.backup(to: "other", disk: disk) }?.code == .corrupted)
    #expect(try !disk.exists("other") && !disk.exists("other.unfinished"))
  }
}

/// Says that a file is about to get a name that is free.
private final class RenamingDisk: ForwardingDisk {
  let disk: SimulatedDisk
  private let willRename: @Sendable (String) -> Void

  init(_ disk: SimulatedDisk, _ willRename: @escaping @Sendable (String) -> Void) {
    self.disk = disk
    self.willRename = willRename
  }

  func renameWithoutReplacing(_ source: String, to target: String) throws(DiskFailure) {
    willRename(source)
    try disk.renameWithoutReplacing(source, to: target)
  }
}
