import DaybookEngine

/// What a commit made of one record.
///
///     old   new
///      –     +    it is new
///      +     +    it was changed
///      +     –    it was deleted
///      –     –    it came and went within the commit; or the watcher wants no bodies
struct RecordChange: Sendable {
  let id: Record.ID
  /// As it was before the commit.
  let old: RecordBody?
  /// As it is since.
  let new: RecordBody?
  /// Whether it is gone now.
  let isDeleted: Bool

  /// Whether it was, or is, something that a watcher wants to hear of.
  func concerns(_ interest: WatchInterest) -> Bool {
    guard interest.covers(id.zone) else { return false }
    return interest.types == nil || old != nil && interest.coversType(of: old) || new != nil && interest.coversType(of: new)
  }
}

/// What went with a zone: its records are counted, not named.
struct ZoneDeletion: Sendable {
  let reason: DatabaseChanges.DeletedZone.Reason
  /// As the transaction had them when it deleted the zone.
  let recordCount: UInt64
  /// By type; nil where the tree by type could not be read: the zone can be deleted nevertheless.
  let types: [(type: String, count: UInt64)]?
  /// The subscriptions that were deleted with the zone: this deletion is the last thing they are told.
  var subscriptions: [StoredSubscriptions.Stored] = []
  /// Types of records that the commit changed or deleted before it deleted their zone: `types` lacks a type whose last record
  /// went before the zone did. Counts only records that a watcher asked for.
  var formerTypes: Set<String> = []

  func hadRecords(of types: Set<String>) -> Bool {
    !formerTypes.isDisjoint(with: types) || self.types.map { $0.contains { types.contains($0.type) } } ?? true
  }
}

/// What a commit made of one zone as a whole.
struct ZoneChange: Sendable {
  let id: Zone.ID
  /// The zone that was there before has been deleted.
  var deletion: ZoneDeletion?
  /// There is a new one of this name.
  var isNew = false

  /// Whether something went with it that a watcher asked for: records, or the zone itself.
  func deletes(_ interest: WatchInterest) -> Bool {
    guard let deletion, interest.covers(id) else { return false }
    if interest.wantsEnds { return true }
    return interest.types.map(deletion.hadRecords) ?? true
  }
}

/// What one commit did, for those who watch: each record once, from what it was before to what it is since, and none of a zone
/// that was deleted after it.
///
/// Made of what the recorder kept, when the first one asks: not within the turn.
final class CommitChanges: Sendable {
  let sequence: UInt64
  /// The number of the store that has it.
  let store: Int
  let origin: Origin?
  private let recorder: ChangeRecorder
  private let summary = Locked<Summary?>(nil)

  private struct Summary {
    var zones: [Zone.ID] = []
    var zoneChanges: [ZoneChange] = []
    var records: [RecordChange] = []
  }

  init(sequence: UInt64, store: Int, origin: Origin?, _ recorder: ChangeRecorder) {
    self.sequence = sequence
    self.store = store
    self.origin = origin
    self.recorder = recorder
  }

  var kept: ChangeRecorder.Mark { recorder.kept }

  /// Why a watcher cannot get all that it asked for; nil when it can.
  func gap(for interest: WatchInterest) -> WatchNotice.Gap? {
    guard recorder.interests.contains(interest) else { return .notWatched }
    return (interest.wantsBodies ? recorder.hasAllBodies : recorder.isComplete) ? nil : .tooMuch
  }

  /// Whether nothing changed that a watcher may ask for: neither a record nor a zone.
  var isEmpty: Bool { recorder.isComplete && recorder.events.isEmpty }

  /// The zones in which anything changed that a watcher asked for, in order.
  var zones: [Zone.ID] { made.zones }
  /// Zones that were made and deleted.
  var zoneChanges: [ZoneChange] { made.zoneChanges }
  /// The records, in the order of their last changes.
  var records: [RecordChange] { made.records }

  /// The records that a watcher wants to hear of.
  func records(for interest: WatchInterest) -> [RecordChange] { records.filter { $0.concerns(interest) } }

  /// Whether there may be anything that a watcher asked for: a writer asks, so the summary is made for a zone's deletion only. One that
  /// asked for all zones and types gets every commit.
  func mayConcern(_ interest: WatchInterest) -> Bool {
    if interest.zones == nil, interest.types == nil { return true }
    return recorder.events.contains { event in
      guard interest.covers(event.zone) else { return false }
      guard interest.types != nil else { return true }
      switch event {
      case .record(_, let old, let new, _):
        return old != nil && interest.coversType(of: old) || new != nil && interest.coversType(of: new)
      case .savedZone: return false
      case .deletedZone(let id, _): return made.zoneChanges.contains { $0.id == id && $0.deletes(interest) }
      }
    }
  }

  /// The same for the stream of commits.
  var notice: CommitNotice.Commit {
    let made = made
    return .init(
      sequence: sequence, origin: origin, zones: made.zones, saved: made.records.filter { !$0.isDeleted }.map(\.id),
      deleted: made.records.filter(\.isDeleted).map(\.id),
      deletedZones: made.zoneChanges.compactMap { change in
        change.deletion.map { deletion in
          .init(
            id: change.id, reason: deletion.reason, recordCount: Int(clamping: deletion.recordCount),
            types: deletion.types.map { types in
              Dictionary(types.map { ($0.type, Int(clamping: $0.count)) }, uniquingKeysWith: +)
            })
        }
      })
  }

  private var made: Summary {
    summary.withLock { summary in
      if let summary { return summary }
      let made = makeSummary()
      summary = made
      return made
    }
  }

  private func makeSummary() -> Summary {
    var summary = Summary()
    var positions: [Zone.ID: Int] = [:]
    var changes: [ZoneChange] = []
    var deletions: [Zone.ID: Int] = [:]
    let formerTypes = makeFormerTypes()
    for (index, event) in recorder.events.enumerated() {
      let zone = event.zone
      if positions[zone] == nil {
        positions[zone] = changes.count
        summary.zones.append(zone)
        changes.append(ZoneChange(id: zone))
      }
      let position = positions[zone] ?? 0
      switch event {
      case .record: break
      case .savedZone(_, let isNew): if isNew { changes[position].isNew = true }
      case .deletedZone(_, let deletion):
        deletions[zone] = index
        // A record that was made in this commit is missed by no watcher.
        if !changes[position].isNew, changes[position].deletion == nil {
          changes[position].deletion = deletion
          changes[position].deletion?.formerTypes = formerTypes[zone] ?? []
        }
        changes[position].isNew = false
      }
    }
    summary.zoneChanges = changes.filter { $0.isNew || $0.deletion != nil }
    var lives: [Record.ID: (old: RecordBody?, last: Int)] = [:]
    for (index, event) in recorder.events.enumerated() where index > deletions[event.zone] ?? -1 {
      guard case .record(let id, let old, _, _) = event else { continue }
      lives[id] = (lives[id].map(\.old) ?? old, index)
    }
    for (index, event) in recorder.events.enumerated() {
      guard case .record(let id, _, let new, let isDeleted) = event, let life = lives[id], life.last == index else { continue }
      summary.records.append(RecordChange(id: id, old: life.old, new: new, isDeleted: isDeleted))
    }
    return summary
  }

  /// Of each zone that was deleted, the types of records that the commit found and touched before.
  private func makeFormerTypes() -> [Zone.ID: Set<String>] {
    var pending: Set<Zone.ID> = []
    for case .deletedZone(let zone, _) in recorder.events { pending.insert(zone) }
    if pending.isEmpty || isMutant("forget-deletions-before-zone") { return [:] }
    var types: [Zone.ID: Set<String>] = [:]
    var seen: Set<Record.ID> = []
    for event in recorder.events where pending.contains(event.zone) {
      switch event {
      case .record(let id, let old, _, _):
        if seen.insert(id).inserted, let type = old?.type { types[id.zone, default: []].insert(type) }
      case .deletedZone(let zone, _): pending.remove(zone)
      case .savedZone: break
      }
    }
    return types
  }
}
