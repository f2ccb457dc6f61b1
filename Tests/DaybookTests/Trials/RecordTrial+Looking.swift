import DaybookTesting
import Foundation

@testable import Daybook
@testable import DaybookEngine

/// The same questions, asked of both.
extension RecordTrial {
  func compare(_ record: Record?, _ version: ModelVersion?, _ what: @autoclosure () -> String) throws {
    guard let record, let version else {
      return try require(
        record == nil && version == nil, "\(what()): \(String(describing: record)), \(String(describing: version))")
    }
    try require(record.type == version.type, "\(what()): type \(record.type)")
    let values = record.values
    try require(record.parent?.id.name == version.parent, "\(what()): parent")
    try require(
      values == version.values || values.mapValues(ModelContent.named) == version.values.mapValues(ModelContent.named),
      "\(what()): \(values), expected \(version.values)")
    try require(record.metadata?.changeTag == version.tag, "\(what()): tag")
    try require(record.metadata?.creationDate == version.creationDate, "\(what()): creation date")
    try require(record.metadata?.modificationDate == version.modificationDate, "\(what()): modification date")
    try require(record.changedKeys.isEmpty, "\(what()): changed keys")
  }

  /// Reads inside a transaction see what it has done so far.
  func look(_ transaction: borrowing Transaction, _ next: ModelDatabase) throws {
    let id = try Record.ID(pick(names), in: pick(zones))
    try compare(try transaction.record(id), next.live(id), "inside, \(id)")
    guard next.fault(of: id.zone) == nil else { return }
    let rows = next.zones[id.zone]?.rows ?? [:]
    switch number(0...7) {
    case 6, 7:
      let type = pick(types)
      let records = try next.names(ofType: type, in: id.zone).compactMap { try transaction.record(Record.ID($0, in: id.zone)) }
      try ask(in: id.zone, ofType: type, among: records) {
        (try transaction.explain($0), try transaction.records($0), try transaction.count($0))
      }
    case 5:
      let found = try transaction.referencing(id).map(\.id.name)
      try require(found == next.sources(of: id.name, in: id.zone), "inside, who points at \(id): \(found)")
    case 0:
      let count = try transaction.recordCount(in: id.zone)
      try require(count == rows.values.filter { $0.live != nil }.count, "inside, count of \(id.zone)")
    case 1:
      let type = pick(types)
      let found = try transaction.records(in: id.zone, ofType: type).map(\.id.name)
      let expected = next.names(ofType: type, in: id.zone)
      try require(found == expected, "inside, \(type) of \(id.zone): \(found), expected \(expected)")
    case 2:
      try compareHistory(try transaction.history(of: id), rows[id.name], "inside, \(id)")
    case 3:
      let found = try transaction.zones().map(\.id)
      let expected = next.zones.filter { $0.value.deletion == nil }.keys.sorted()
      try require(found == expected, "inside, zones: \(found)")
    default:
      // A feed inside a transaction tells what was committed, whatever the transaction has done since.
      guard model.fault(of: id.zone) == nil else { return }
      let changes = try transaction.changes(in: id.zone, since: nil, limit: .max)
      let expected = model.changes(in: id.zone, after: 0)
      try require(
        changes.savedNames == expected.filter { $0.row.live != nil }.map(\.name), "inside, feed of \(id.zone)")
      if let life = model.zones[id.zone]?.life {
        hold(
          HeldToken(
            token: changes.token, zone: id.zone, life: life, order: model.order, sequence: model.sequence,
            horizon: model.horizon))
      }
    }
  }

  func compareHistory(_ history: [RecordHistoryVersion], _ row: ModelRow?, _ what: @autoclosure () -> String) throws {
    let expected = Array((row?.versions ?? []).reversed())
    try require(
      history.map(\.changeTag) == expected.map(\.tag),
      "\(what()): history \(history.map(\.changeTag)), expected \(expected.map(\.tag))")
    for (found, version) in zip(history, expected) {
      try require(found.date == version.modificationDate, "\(what()): date of a version")
      if version.isDeleted {
        guard case .deleted(let gone) = found.content, gone.type == version.type else {
          throw Mismatch(description: "\(what()): a deletion that is none")
        }
      } else {
        try compare(found.record, version, "\(what()): version")
      }
    }
    try require(history.first?.sequence == row?.sequence, "\(what()): sequence of the newest version")
  }

  func compareAll() throws {
    stepCount += 1
    let snapshot = try database.snapshot()
    let zones = try snapshot.zones()
    let expected = model.zones.filter { $0.value.deletion == nil }.sorted { $0.key < $1.key }
    try require(zones.map(\.id) == expected.map(\.key), "zones \(zones.map(\.id))")
    try require(zones.map(\.capabilities) == expected.map(\.value.capabilities), "capabilities")
    for (id, zone) in expected {
      let live = zone.rows.filter { $0.value.live != nil }
      let limit = number(1...9)
      var found: [Record] = []
      while true {
        let page = try snapshot.records(in: id, after: found.last?.id.name, limit: limit)
        found += page
        if page.count < limit { break }
      }
      try require(found.map(\.id.name) == live.keys.sorted(by: NameKey.precedes), "records of \(id)")
      for record in found {
        try compare(record, live[record.id.name]?.live, "\(record.id)")
        if !database.options.isReadOnly, chance(1, in: 4) { try compareContents(record) }
      }
      for type in types {
        let count = try snapshot.recordCount(in: id, ofType: type)
        try require(count == live.values.filter { $0.live?.type == type }.count, "count of \(type) in \(id)")
        var names: [String] = []
        var next: RecordCursor?
        repeat {
          let page = try snapshot.recordPage(in: id, ofType: type, after: next, limit: limit)
          names += page.records.map(\.id.name)
          next = page.next
        } while next != nil
        try require(names == model.names(ofType: type, in: id), "\(type) of \(id): \(names)")
        let records = names.compactMap { name in found.first { $0.id.name == name } }
        for _ in 0..<3 {
          try ask(in: id, ofType: type, among: records) {
            (try snapshot.explain($0), try snapshot.records($0), try snapshot.count($0))
          }
        }
      }
      let counts = try snapshot.recordTypes(in: id)
      try require(counts.reduce(0) { $0 + $1.count } == live.count, "types of \(id): \(counts)")
      for name in names where chance(1, in: 5) {
        let found = try snapshot.referencing(Record.ID(name, in: id), limit: 5).map(\.id.name)
        try require(found == Array(model.sources(of: name, in: id).prefix(5)), "who points at \(id)/\(name): \(found)")
      }
      for (name, row) in zone.rows where chance(1, in: 5) {
        try compareHistory(try snapshot.history(of: Record.ID(name, in: id)), row, "\(id)/\(name)")
      }
      let count = try snapshot.changeCount(in: id, since: nil)
      try require(count == zone.rows.count, "changes of \(id): \(count)")
    }
    var schema: [String: [String: Set<String>]] = [:]
    for type in try snapshot.schema().types {
      schema[type.name] = Dictionary(uniqueKeysWithValues: type.fields.map { ($0.key, Set($0.kinds.map(\.rawValue))) })
    }
    let indexes = Set(
      try snapshot.schema().types.flatMap { type in type.indexes.map { [type.name, $0.key, $0.kind.rawValue] } })
    try require(indexes == model.indexes, "indexes \(indexes), expected \(model.indexes)")
    try require(schema == model.schema, "schema \(schema), expected \(model.schema)")
    for key in ["state", "état", "e\u{301}tat"] {
      let value = try snapshot.metadata(forKey: key)
      try require(value == model.metadata[Array(key.utf8)], "metadata \(key)")
    }
  }
}
