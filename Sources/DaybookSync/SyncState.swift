import Daybook

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// How far the engine has come with one remote, as it is stored beside the data that it describes.
struct SyncState: Sendable {
  /// What is stored once: small, because every transaction of the engine writes it.
  struct Head: Codable, Equatable, Sendable {
    var version = 1
    /// Counts the engine's transactions: another engine that works on the same state is noticed by it.
    var revision: UInt64 = 0
    /// Which database this is. A salvage is another one, and says nothing of what was deleted.
    var localIdentity: String
    /// Which remote, where it says so. Another one under the same name is another account, or a salvage.
    var remoteIdentity: String?
    /// Up to where the remote's feed of zones has been followed.
    var databaseToken: ChangeToken?
    /// Numbers of zones are never used twice.
    var nextNumber: UInt32 = 1
    /// Zones that are no more, of which bases may still be stored.
    var abandoned: [UInt32] = []
  }

  /// One zone; see ``Head``.
  struct ZoneState: Codable, Equatable, Sendable {
    /// What its bases are stored under.
    var number: UInt32
    /// Whether the zone has been in this database.
    var isHere: Bool
    /// Whether the remote has the zone, as far as is known.
    var isThere: Bool
    /// Whether the remote has changes that have not been fetched.
    var needsFetch: Bool
    /// Up to where the remote's feed is in this database.
    var fetchedToken: ChangeToken?
    /// Up to where this database's feed has been looked through: what was changed before is on the remote, or held.
    var sentToken: ChangeToken?
    /// Counts readings of the remote's feed from its beginning.
    var generation: UInt32 = 0
    /// Whether such a reading runs, at whose end what it has not seen is what was deleted there.
    var isSweeping = false
    /// Whether it is read from its beginning because the remote is an older copy of itself.
    var isForked = false
  }

  var head: Head
  var zones: [Zone.ID: ZoneState]

  init(localIdentity: String, remoteIdentity: String?) {
    head = Head(localIdentity: localIdentity, remoteIdentity: remoteIdentity)
    zones = [:]
  }

  init(head: Head, zones: [Zone.ID: ZoneState]) {
    self.head = head
    self.zones = zones
  }

  /// Begins with a zone, or begins again: no base is left.
  mutating func addZone(_ id: Zone.ID, isHere: Bool, isThere: Bool) {
    forgetZone(id)
    zones[id] = ZoneState(number: head.nextNumber, isHere: isHere, isThere: isThere, needsFetch: isThere)
    head.nextNumber += 1
  }

  mutating func forgetZone(_ id: Zone.ID) {
    if let zone = zones.removeValue(forKey: id) { head.abandoned.append(zone.number) }
  }
}

/// A record whose change cannot be sent, or saved here, for now.
struct HeldRecord: Codable, Sendable {
  enum Reason: String, Codable, Sendable {
    /// To be sent again as soon as possible: its conflict was resolved, or another record has to go first.
    case again
    /// The server refused it.
    case refused
    /// It could not be saved here.
    case unsaved
  }

  var reason: Reason
  /// The change tag here of the version that was refused; nil for a deletion. A version with another one is tried again.
  var localTag: String?
  /// 0 where there is no error.
  var code: Int
  var message: String

  /// - Parameter error: why it was not sent yet.
  static func again(_ error: DatabaseError?) -> HeldRecord {
    HeldRecord(reason: .again, localTag: nil, code: error?.code.rawValue ?? 0, message: error?.message ?? "")
  }
}

/// Where the state of an engine is in a database: in metadata that no application can set, no feed shows and no other engine uses.
///
///     00 "sync" 00 NAME 00 "s"                         SyncState.Head, JSON
///     00 "sync" 00 NAME 00 "z" NUMBER                  zone ID and SyncState.ZoneState, JSON
///     00 "sync" 00 NAME 00 "b" NUMBER RECORD           MergeBase
///     00 "sync" 00 NAME 00 "h" NUMBER RECORD           HeldRecord, JSON
///     00 "sync" 00 NAME 00 "f" NUMBER RECORD           SentVersion, one after the other
///
/// NUMBER are eight hexadecimal digits.
struct SyncStore: Sendable {
  static let prefix = "\u{0}sync\u{0}"
  private let prefix: String
  let name: String

  init(name: String) {
    self.name = name
    prefix = "\(Self.prefix)\(name)\u{0}"
  }

  /// A zone's state with its ID, which may be too long for a key.
  private struct StoredZone: Codable {
    let id: Zone.ID
    let state: SyncState.ZoneState
  }

  private static func digits(_ number: UInt32) -> String {
    let text = String(number, radix: 16)
    return String(repeating: "0", count: 8 - text.count) + text
  }

  private static func rest(of key: String, after start: String) -> String {
    String(decoding: key.utf8.dropFirst(start.utf8.count), as: UTF8.self)
  }

  private var headKey: String { prefix + "s" }
  private func zoneKey(_ number: UInt32) -> String { prefix + "z" + Self.digits(number) }
  private func baseKey(_ number: UInt32, _ name: String) -> String { prefix + "b" + Self.digits(number) + name }
  private func heldKey(_ number: UInt32, _ name: String) -> String { prefix + "h" + Self.digits(number) + name }

  private func sentKey(_ number: UInt32, _ name: String) -> String { prefix + "f" + Self.digits(number) + name }

  /// The names of all engines that have a state in a database.
  static func names(_ reader: borrowing some RecordReader & ~Copyable) throws(DatabaseError) -> [String] {
    var names: [String] = []
    var after: String?
    while let entry = try reader.libraryMetadata(withPrefix: prefix, after: after, limit: 1).first {
      let rest = entry.key.utf8.dropFirst(prefix.utf8.count)
      guard let end = rest.firstIndex(of: 0) else { break }
      let name = String(decoding: rest[..<end], as: UTF8.self)
      names.append(name)
      // Past everything of that name: no key goes on with the last character there is.
      after = "\(prefix)\(name)\u{0}\u{10FFFF}"
    }
    return names
  }

  // MARK: state

  /// Nil when the engine has not worked here.
  func state(_ reader: borrowing some RecordReader & ~Copyable) throws -> SyncState? {
    guard let data = try reader.metadata(forKey: headKey) else { return nil }
    let head = try decode(SyncState.Head.self, data)
    guard head.version == 1 else { throw tooNew() }
    var zones: [Zone.ID: SyncState.ZoneState] = [:]
    var after: String?
    while true {
      let page = try reader.libraryMetadata(withPrefix: prefix + "z", after: after, limit: 1000)
      for entry in page {
        let zone = try decode(StoredZone.self, entry.value)
        zones[zone.id] = zone.state
      }
      guard let last = page.last else { break }
      after = last.key
    }
    return SyncState(head: head, zones: zones)
  }

  /// The revision alone, which says whether what is known of the state is what is stored.
  func revision(_ reader: borrowing some RecordReader & ~Copyable) throws -> UInt64? {
    try reader.metadata(forKey: headKey).map { try decode(SyncState.Head.self, $0).revision }
  }

  func write(_ state: SyncState, replacing former: SyncState?, _ transaction: borrowing Transaction) throws {
    try transaction.setLibraryMetadata(try encode(state.head), forKey: headKey)
    for (id, zone) in state.zones where former?.zones[id] != zone {
      try transaction.setLibraryMetadata(try encode(StoredZone(id: id, state: zone)), forKey: zoneKey(zone.number))
    }
    for (id, zone) in former?.zones ?? [:] where state.zones[id]?.number != zone.number {
      try transaction.setLibraryMetadata(nil, forKey: zoneKey(zone.number))
    }
  }

  // MARK: bases

  func base(
    of record: Record.ID, _ number: UInt32, _ reader: borrowing some RecordReader & ~Copyable
  ) throws(DatabaseError) -> MergeBase? {
    guard let data = try reader.metadata(forKey: baseKey(number, record.name)) else { return nil }
    guard let base = MergeBase(data) else { throw tooNew() }
    return base
  }

  func setBase(
    _ base: MergeBase?, of record: Record.ID, _ number: UInt32, _ transaction: borrowing Transaction
  ) throws(DatabaseError) {
    try transaction.setLibraryMetadata(base?.data, forKey: baseKey(number, record.name))
  }

  /// Names of records that have a base, in order.
  func baseNames(
    _ number: UInt32, after name: String?, limit: Int, _ reader: borrowing some RecordReader & ~Copyable
  ) throws -> [(name: String, base: MergeBase)] {
    let start = baseKey(number, "")
    return try reader.libraryMetadata(withPrefix: start, after: name.map { start + $0 }, limit: limit).map {
      guard let base = MergeBase($0.value) else { throw tooNew() }
      return (Self.rest(of: $0.key, after: start), base)
    }
  }

  /// Removes some of what is stored of a zone that is no more. Returns whether that was all.
  func purge(_ number: UInt32, limit: Int, _ transaction: borrowing Transaction) throws -> Bool {
    var room = limit
    for start in [baseKey(number, ""), heldKey(number, ""), sentKey(number, "")] {
      let page = try transaction.libraryMetadata(withPrefix: start, after: nil, limit: room)
      for entry in page { try transaction.setLibraryMetadata(nil, forKey: entry.key) }
      room -= page.count
      if room <= 0 { return false }
    }
    return true
  }

  // MARK: versions that are on their way

  /// What was sent of a record and not answered, oldest first.
  func sent(
    of record: Record.ID, _ number: UInt32, _ reader: borrowing some RecordReader & ~Copyable
  ) throws(DatabaseError) -> [SentVersion] {
    guard let data = try reader.metadata(forKey: sentKey(number, record.name)) else { return [] }
    guard let versions = SentVersion.list(data) else { throw tooNew() }
    return versions
  }

  func addSent(
    _ version: SentVersion, of record: Record.ID, _ number: UInt32, _ transaction: borrowing Transaction
  ) throws(DatabaseError) {
    let versions = try sent(of: record, number, transaction).filter { $0 != version } + [version]
    try transaction.setLibraryMetadata(SentVersion.data(of: versions), forKey: sentKey(number, record.name))
  }

  /// There is an answer.
  func clearSent(of record: Record.ID, _ number: UInt32, _ transaction: borrowing Transaction) throws(DatabaseError) {
    try transaction.setLibraryMetadata(nil, forKey: sentKey(number, record.name))
  }

  // MARK: records that are held

  func held(
    of record: Record.ID, _ number: UInt32, _ reader: borrowing some RecordReader & ~Copyable
  ) throws -> HeldRecord? {
    try reader.metadata(forKey: heldKey(number, record.name)).map { try decode(HeldRecord.self, $0) }
  }

  func setHeld(
    _ held: HeldRecord?, of record: Record.ID, _ number: UInt32, _ transaction: borrowing Transaction
  ) throws {
    try transaction.setLibraryMetadata(try held.map { try encode($0) }, forKey: heldKey(number, record.name))
  }

  /// Some of a zone, by name.
  func held(
    _ number: UInt32, after name: String?, limit: Int, _ reader: borrowing some RecordReader & ~Copyable
  ) throws -> [(name: String, held: HeldRecord)] {
    let start = heldKey(number, "")
    return try reader.libraryMetadata(withPrefix: start, after: name.map { start + $0 }, limit: limit).map {
      (Self.rest(of: $0.key, after: start), try decode(HeldRecord.self, $0.value))
    }
  }

  /// All of a zone, by name.
  func held(_ number: UInt32, _ reader: borrowing some RecordReader & ~Copyable) throws -> [(name: String, held: HeldRecord)] {
    var all: [(name: String, held: HeldRecord)] = []
    while true {
      let page = try held(number, after: all.last?.name, limit: 1000, reader)
      if page.isEmpty { return all }
      all += page
    }
  }

  // MARK: bytes

  private func encode(_ value: some Encodable) throws(DatabaseError) -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    do { return try encoder.encode(value) } catch {
      throw DatabaseError(.internalError, "The state of a sync cannot be written as JSON.", cause: error)
    }
  }

  private func decode<T: Decodable>(_ type: T.Type, _ data: Data) throws(DatabaseError) -> T {
    do { return try JSONDecoder().decode(type, from: data) } catch { throw tooNew(error) }
  }

  private func tooNew(_ cause: (any Error)? = nil) -> DatabaseError {
    DatabaseError(
      .formatTooNew, "The state of a sync was saved by a later version, or is damaged.", facts: .init(name: name), cause: cause)
  }
}
