import DaybookEngine

/// What the index of a field serves.
public struct IndexKinds: OptionSet, Hashable, Sendable, Codable {
  /// The kinds as bits.
  public let rawValue: Int

  /// Of bits.
  public init(rawValue: Int) { self.rawValue = rawValue }

  /// Conditions find records by the field's value: equality, ranges, beginnings of texts, elements of lists.
  public static let queryable = IndexKinds(rawValue: 1)
  /// Results are ordered by the field. The same entries serve both.
  public static let sortable = IndexKinds(rawValue: 2)
  /// Conditions find records by words of the field's texts (``Query/Field/tokens(_:)``). Where all texts of a type have such an
  /// index, so do searches in all of them (``Query/Predicate/tokens(_:)``).
  public static let searchable = IndexKinds(rawValue: 4)
  /// Conditions find records by the distance of the field's place from another one (``Query/Field/near(_:within:)``).
  public static let location = IndexKinds(rawValue: 8)

  /// All of them.
  static let all: IndexKinds = [.queryable, .sortable, .searchable, .location]

  /// The kinds of indexes that serve these.
  package var indexKinds: [IndexKind] {
    var kinds: [IndexKind] = []
    if !isDisjoint(with: [.queryable, .sortable]) { kinds.append(.value) }
    if contains(.location) { kinds.append(.location) }
    if contains(.searchable) { kinds.append(.text) }
    return kinds
  }
}

/// An index, and how far it is.
public struct IndexState: Hashable, Sendable, Codable {
  /// The record type.
  public let recordType: String
  /// The key of the field.
  public let key: String
  /// What its entries are made of.
  public let kind: IndexKind
  /// Whether queries use it; else it is being built, or its build was cut off, or a damaged record is not in it: then drop it and make it
  /// again.
  public let isComplete: Bool
  /// How many entries it has, in all zones.
  public let entryCount: Int

  init(recordType: String, key: String, kind: IndexKind = .value, isComplete: Bool, entryCount: Int) {
    self.recordType = recordType
    self.key = key
    self.kind = kind
    self.isComplete = isComplete
    self.entryCount = entryCount
  }
}

extension Database {
  /// So many records at most are built into an index in one transaction.
  private static let builtAtOnce = 1 << 16
  /// An open may enter so many records in indexes again.
  private static let builtAtOpen = 1000

  /// Gives a field indexes, or takes them away: without kinds all of them are dropped with all their entries.
  ///
  /// An index is made of the records that are there, and each save keeps it up. The records are taken in parts of 65,536 at most, fewer where
  /// texts or lists are long, each in a transaction of its own, between which others write. A build that is cut off, by a cancelled progress or a crash, goes on where it
  /// was with the next call, or with ``buildIndexes(progress:)``; until it is complete queries do without. Where there is one that is
  /// complete, nothing is done; those of other kinds stay.
  /// The dates that the database keeps have indexes of values, too: `creationDate`, and `modificationDate`, of which each save changes an
  /// entry.
  /// - Parameters:
  ///   - kinds: what they are for. One index of values serves both `queryable` and `sortable`, whichever is asked for; places and
  ///     words have an index each.
  ///   - progress: called with the records done and all records of the type, for each index; false stops with `operationCancelled`.
  /// - Throws: `invalidArguments` for names that are not valid, for encrypted values and for unknown kinds; `limitExceeded` beyond 32
  ///   indexes of a type or 1,024 of the database; `corrupted` where a record cannot be read; `operationCancelled` where others drop
  ///   the index meanwhile.
  public func setIndex(
    _ kinds: IndexKinds, on key: String, ofType type: String, progress: ((_ done: Int, _ total: Int) -> Bool)? = nil
  ) throws(DatabaseError) {
    guard kinds.isSubset(of: .all) else {
      throw DatabaseError(.invalidArguments, "There is no index of such a kind.", facts: .init(recordType: type, key: key))
    }
    if kinds.isEmpty { try dropIndex(on: key, ofType: type) }
    try refreshDefinitions()
    for kind in kinds.indexKinds { try createIndex(on: key, ofType: type, kind: kind, progress: progress) }
  }

  /// - Throws: `invalidArguments` for what can have no index of a kind: a key that is neither one of fields nor a date that the database
  ///   keeps, and such a date as a place or as words.
  package static func requireIndexable(
    _ key: String, ofType type: String, kind: IndexKind = .value
  ) throws(DatabaseError) {
    let system = Query.Field(key).system
    if let system, system.isDate, kind == .value, UTF8Order.equal(key, system.rawValue) { return }
    guard var fault = NameRules.faultOfKey(key) else { return }
    func refusal(_ reason: String) -> DatabaseError { DatabaseError(.invalidArguments, reason, facts: .init(key: key)) }
    if system == .recordName || system == .recordID {
      fault = refusal("Records are looked up by name without an index; there is none to make.")
    } else if let system, system.isDate {
      fault = refusal("The index of this date is one of values, and its key is \(system.rawValue).")
    }
    throw fault.adding { $0.recordType = type }
  }

  /// Another process may have dropped an index, or begun to build it again, since the view here is of.
  private func refreshDefinitions() throws(DatabaseError) { if options.mayLag { try refresh() } }

  /// Defines an index of a field, if there is none, and builds what is missing of it.
  func createIndex(
    on key: String, ofType type: String, kind: IndexKind = .value, progress: ((_ done: Int, _ total: Int) -> Bool)? = nil
  ) throws(DatabaseError) {
    func isWanted(_ index: IndexDefinition) -> Bool {
      UTF8Order.equal(index.keyName, key) && UTF8Order.equal(index.typeName, type) && index.kind == kind
    }
    func known() throws(DatabaseError) -> IndexDefinition? {
      try reading { (view) throws(DatabaseError) in try view.indexes().first(where: isWanted) }
    }
    if try known() == nil {
      try inTransaction { (context) throws(DatabaseError) in _ = try context.defineIndex(on: key, ofType: type, kind: kind) }
    }
    try build(progress, isWanted)
    // Another thread or process may have dropped it before the build looked for it.
    guard try known() != nil else {
      throw DatabaseError(
        .operationCancelled, "The index was dropped while it was built.",
        facts: .init(path: path, recordType: type, key: key))
    }
  }

  /// Completes the indexes that are being built.
  /// - Parameter progress: as in ``setIndex(_:on:ofType:progress:)``, for each index.
  public func buildIndexes(progress: ((_ done: Int, _ total: Int) -> Bool)? = nil) throws(DatabaseError) {
    try refreshDefinitions()
    try build(progress) { _ in true }
  }

  /// Drops indexes of a field with all their entries. Queries are answered without them from then on.
  /// - Parameter kinds: which of them; nil for all.
  /// - Returns: whether there was one.
  @discardableResult
  package func dropIndex(
    on key: String, ofType type: String, kinds: Set<IndexKind>? = nil
  ) throws(DatabaseError) -> Bool {
    try inTransaction { (context) throws(DatabaseError) in try context.dropIndex(on: key, ofType: type, kinds: kinds) }
  }

  /// The indexes, by type, key and kind.
  public func indexes() throws(DatabaseError) -> [IndexState] {
    try reading { (view) throws(DatabaseError) in
      var result: [IndexState] = []
      let zones = try view.zones()
      for index in try view.indexes() {
        // Of a later version: queries do without it.
        guard let kind = index.kind else { continue }
        var count: UInt64 = 0
        for zone in zones {
          let trees = try view.existingZone(zone.id)
          count += try view.asDatabaseError { () throws(PageFault) in
            try IndexRange(number: index.number).count(in: trees.indexes, view.reader)
          }
        }
        result.append(
          IndexState(
            recordType: index.typeName, key: index.keyName, kind: kind, isComplete: index.isComplete && !index.hasGaps,
            entryCount: Int(clamping: count)))
      }
      return result.sorted {
        ($0.recordType, $0.key, $0.kind.byte) < ($1.recordType, $1.key, $1.kind.byte)
      }
    }
  }

  private func inTransaction<R>(_ body: (WriteContext) throws(DatabaseError) -> R) throws(DatabaseError) -> R {
    try DatabaseError.only { try write(nil, checksReferences: true) { try body($0.context) } }
  }

  private func build(
    _ progress: ((_ done: Int, _ total: Int) -> Bool)?, _ isWanted: (IndexDefinition) -> Bool
  ) throws(DatabaseError) {
    let wanted = try reading { (view) throws(DatabaseError) in
      try view.indexes().filter { !$0.isComplete && $0.kind != nil && isWanted($0) }
    }
    var count = 0
    for index in wanted {
      let total = try reading { (view) throws(DatabaseError) -> Int in
        var total: UInt64 = 0
        for zone in try view.zones() { total += try view.count(ofType: index.typeName, in: try view.existingZone(zone.id)) }
        return Int(clamping: total)
      }
      var done = 0
      while true {
        if let progress, !progress(done, total) { throw DatabaseError(.operationCancelled, facts: .init(path: path)) }
        let part = try inTransaction { (context) throws(DatabaseError) in
          try context.buildIndex(index, limit: Database.builtAtOnce)
        }
        done += part.count
        if part.isComplete { break }
      }
      count += done
      _ = progress?(total, total)
    }
    // A few bytes of log say that an index was built, and an open that replays them builds it once more. Without the checkpoint
    // the next open is slower: where it fails, which statistics tell, and where the file is shared, which is not locked now. One whose
    // sync fails ends the writer; the next call that writes says so.
    if count > Database.builtAtOpen { try? store.checkpoint() }
  }
}
