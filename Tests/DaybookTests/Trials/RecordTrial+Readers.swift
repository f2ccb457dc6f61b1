import DaybookTesting
import Foundation

@testable import Daybook
@testable import DaybookEngine

/// A read-only open, and the state that it shows, if the trial still knows it.
struct ModelReader {
  let database: Database
  var shown: UInt64
  var model: ModelDatabase?
}

/// Those who only read: each shows some commit that is there to stay, and never an older one than before.
extension RecordTrial {
  /// Opens a reader, or lets one look, with or without what happened since.
  func readBeside() throws {
    guard !syncMayHaveFailed else { return }
    stepCount += 1
    if readers.isEmpty || readers.count < 3 && chance(1, in: 3) { return try openReader() }
    let index = number(0...readers.count - 1)
    if chance(1, in: 8) { return try readers.remove(at: index).database.close() }
    if chance(2, in: 3) {
      let isTold = try tellOfLastCommit()
      try readers[index].database.refresh()
      try follow(&readers[index], floor: isTold ? model.sequence : 0)
    }
    try compare(readers[index])
  }

  private func openReader() throws {
    var options = someOptions()
    options.isReadOnly = true
    let isTold = try tellOfLastCommit()
    let opened = try Database.open(at: path, options: options, disk: disk)
    var reader = ModelReader(database: opened, shown: 0)
    try require(
      !isTold || !opened.store.recovery.isBehindWriter, "a reader waits for what has been said: \(opened.store.recovery)")
    try follow(&reader, floor: isTold ? model.sequence : 0)
    note(.reader)
    readers.append(reader)
    try compare(reader)
  }

  /// Half of the time the writer proves what it has committed; one that shares the file does it always.
  private func tellOfLastCommit() throws -> Bool {
    if database.options.lock == .perTransaction { return true }
    guard chance(1, in: 2) else { return false }
    try database.sync()
    raiseFloor()
    database.store.appendNote()
    return true
  }

  private func follow(_ reader: inout ModelReader, floor wanted: UInt64) throws {
    let shown = try reader.database.snapshot().sequence
    try require(
      shown >= max(reader.shown, wanted) && shown <= model.sequence,
      "a reader shows commit \(shown) after \(reader.shown), expected \(wanted) to \(model.sequence)")
    reader.shown = shown
    if shown < model.sequence { note(.readerBehind) }
    reader.model = shown == model.sequence ? model : recent[shown]
    // What a reader has shown survives a crash.
    if shown > floor {
      floor = shown
      states = states.filter { $0.key >= shown }
    }
  }

  /// The same questions as ever, of the moment that it shows.
  private func compare(_ reader: ModelReader) throws {
    guard let state = reader.model else { return }
    let (writer, present) = (database, model)
    defer { (database, model) = (writer, present) }
    (database, model) = (reader.database, state)
    try expectSequence()
    if chance(1, in: 2) { try compareAll() }
    try feed()
    if chance(1, in: 4) { try databaseFeed() }
  }

  /// Every writer has closed the file: who reads on sees all.
  func readAlone() throws {
    for index in readers.indices {
      note(.readerAlone)
      try readers[index].database.refresh()
      try follow(&readers[index], floor: model.sequence)
      try compare(readers[index])
    }
  }
}
