#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import Daybook
import DaybookEngine

/// A naive model of a small database: what it holds after one commit. It knows nothing of logs or trees.
package struct CrashState: Hashable, Sendable, CustomStringConvertible {
  struct Entry: Hashable, Sendable {
    var number: Int64
    var byteCount: Int
    /// Which content its asset has.
    var asset: Int?
    /// The owner with which it is deleted.
    var owner: String?
  }

  struct ZoneState: Hashable, Sendable {
    var records: [String: Entry] = [:]
    var deleted: Set<String> = []
  }

  var zones: [String: ZoneState] = [:]
  /// The kinds of indexes that there are, complete or not, each of fields of its own.
  var indexes: Set<IndexKind> = []
  /// The number of the newest change, as metadata: it proves that a transaction is there as a whole.
  var step: Int64 = 0
  /// Deletions up to this commit are forgotten. Not compared directly: it shows in the tokens that are refused.
  var horizon = 0

  package init() {}

  package static func == (left: CrashState, right: CrashState) -> Bool {
    left.zones == right.zones && left.step == right.step && left.indexes == right.indexes
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(zones)
    hasher.combine(step)
    hasher.combine(indexes)
  }

  package var description: String {
    let zones = self.zones.sorted { $0.key < $1.key }.map { (name, zone) in
      "\(name): \(zone.records.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value.number)" }) -\(zone.deleted.sorted())"
    }
    return "step \(step) \(zones)\(indexes.isEmpty ? "" : ", indexes \(indexes.map(\.rawValue).sorted())")"
  }

  // MARK: changing

  mutating func save(_ record: String, in zone: String, _ entry: Entry) {
    zones[zone, default: ZoneState()].records[record] = entry
    zones[zone]?.deleted.remove(record)
  }

  /// Deletes a record, what it owns, what that owns, …
  mutating func delete(_ record: String, in zone: String) {
    var rest = [record]
    while let name = rest.popLast() {
      guard let entries = zones[zone]?.records, entries[name] != nil else { continue }
      zones[zone]?.records[name] = nil
      zones[zone]?.deleted.insert(name)
      rest += entries.filter { $0.value.owner == name }.map(\.key)
    }
  }

  /// The same without contents of assets, for readers that cannot see them.
  var withoutAssets: CrashState {
    var state = self
    for (name, zone) in zones {
      for (record, entry) in zone.records where entry.asset != nil { state.zones[name]?.records[record]?.asset = nil }
    }
    return state
  }

  // MARK: the real one

  /// The content of an asset: larger than a sector, so that power loss can cut it.
  static func assetContent(_ number: Int) -> Data {
    Data((0..<700).map { UInt8(truncatingIfNeeded: $0 &* 13 &+ number &* 101 &+ 1) })
  }

  private static func asset(of record: Record) throws -> Int? {
    guard let asset = record["a"] as Asset? else { return nil }
    let content: Data
    do { content = try asset.content() } catch {
      // A disk failure says nothing about the content of the disk.
      if error.code == .ioFailed || error.code == .diskFull { throw error }
      throw CrashDeviation("\(record.id) names an asset that is not there: \(error)")
    }
    guard let number = (0..<8).first(where: { assetContent($0) == content }) else {
      throw CrashDeviation("the asset of \(record.id) has other bytes than it was saved with")
    }
    return number
  }

  /// After a collection, exactly those files exist that records name.
  static func expectOnlyNamedFiles(_ database: Database) throws {
    try database.collectAssets(grace: .zero)
    let wrong = try database.storedAssets().filter { $0.state != .stored }
    if !wrong.isEmpty { throw CrashDeviation("after a collection: \(wrong)") }
    let leftovers = try database.assetLeftovers()
    if !leftovers.isEmpty { throw CrashDeviation("a collection leaves \(leftovers)") }
  }

  static func content(of entry: Entry) -> Data {
    Data((0..<entry.byteCount).map { UInt8(truncatingIfNeeded: entry.number &* 31 &+ Int64($0)) })
  }

  /// What a database shows: records, their values, and a feed from the beginning that names each once.
  static func read(_ database: Database, withAssets: Bool = true) throws -> (sequence: Int, state: CrashState) {
    try read(try database.snapshot(), withAssets: withAssets)
  }

  /// - Parameters:
  ///   - withAssets: false if another process may be collecting contents that only an older version names.
  ///   - look: called with each record.
  static func read(
    _ snapshot: borrowing Snapshot, withAssets: Bool = true, _ look: (Record) throws -> Void = { _ in }
  ) throws -> (sequence: Int, state: CrashState) {
    var state = CrashState()
    let indexes = try snapshot.schema()["Note"]?.indexes ?? []
    state.indexes = Set(indexes.map(\.kind))
    guard Set(indexes) == Set(CrashIndex.indexes(state.indexes)) else {
      throw CrashDeviation("there are indexes \(indexes)")
    }
    for zone in try snapshot.zones() where zone.id != .default {
      var found = ZoneState()
      for record in try snapshot.records(in: zone.id) {
        guard let number = record["n"] as Int64?, let bytes = record["b"] as Data? else {
          throw CrashDeviation("\(record.id) lacks its values")
        }
        let owner = (record["o"] as Record.Reference?)?.id.name
        let asset = withAssets ? try asset(of: record) : nil
        let entry = Entry(number: number, byteCount: bytes.count, asset: asset, owner: owner)
        try look(record)
        guard bytes == content(of: entry) else { throw CrashDeviation("\(record.id) has other bytes than it was saved with") }
        found.records[record.id.name] = entry
      }
      let changes = try snapshot.changes(in: zone.id, since: nil, limit: .max)
      guard changes.saved.map(\.id.name).sorted() == found.records.keys.sorted() else {
        throw CrashDeviation("the feed of \(zone.id) names other records than there are")
      }
      for name in Set(found.records.values.compactMap(\.owner)) {
        let expected = found.records.filter { $0.value.owner == name }.keys.sorted()
        let sources = try snapshot.referencing(Record.ID(name, in: zone.id)).map(\.id.name).sorted()
        guard sources == expected else { throw CrashDeviation("\(sources) point at \(name), expected \(expected)") }
      }
      if let number = found.records.first?.value.number {
        for kind in state.indexes {
          let expected = found.records.filter { CrashIndex.finds(kind, number, $0.value.number) }.keys.sorted()
          let query = Query("Note", where: CrashIndex.predicate(kind, number), in: zone.id)
          let names = try snapshot.records(query).map(\.id.name).sorted()
          guard names == expected else {
            throw CrashDeviation("an index (\(kind.rawValue)) finds \(names) by \(number), expected \(expected)")
          }
        }
      }
      found.deleted = Set(changes.deleted.map(\.id.name))
      guard found.deleted.isDisjoint(with: found.records.keys) else {
        throw CrashDeviation("a deleted record of \(zone.id) is back")
      }
      state.zones[zone.id.name] = found
    }
    if let data = try snapshot.metadata(forKey: "step") { state.step = data.reduce(0) { $0 << 8 | Int64($1) } }
    return (Int(snapshot.sequence), state)
  }
}
