import DaybookEngine

/// What references do: targets that must exist, owners that take their records along.
///
/// Whether targets exist is asked when all is written, because a child may be saved before its parent, and a parent deleted
/// before its children. Until then the transaction remembers what it has to ask: pointers that were added, deletions
/// of records that others needed, and values of which only a reference was saved.
///
/// Always true: the entries of `pending` were true when they were queued, and are checked again before the commit.
struct PendingReferences {
  /// A pointer that was added and needs its target.
  struct Pointer {
    let source: Record.ID
    /// The target's name, 0, kind: the start of the entry by target.
    let key: [UInt8]
    let item: Int
  }

  /// A record that was deleted while others needed it.
  struct Deletion {
    let target: Record.ID
    let item: Int
  }

  /// A reference in the place of a value, which would be lost if no record had it.
  struct Value {
    let source: Record.ID
    /// The field; nil for the parent.
    let key: String?
    let target: Record.ID
    /// Nil where it may be any.
    let type: String?
    let item: Int
  }

  /// The lengths of the lists: what a rollback to a savepoint restores.
  struct Mark {
    var pointers = 0
    var deletions = 0
    var values = 0
  }

  var pointers: [Pointer] = []
  var deletions: [Deletion] = []
  var values: [Value] = []
  /// Where the items began that are looked at together.
  var start = Mark()
  /// Which item of a request is being worked on.
  var item = -1
  /// A cascade that did not come to its end: the transaction must not be committed.
  var unfinished: DatabaseError?

  var mark: Mark { Mark(pointers: pointers.count, deletions: deletions.count, values: values.count) }

  mutating func rollBack(to mark: Mark) {
    pointers.removeSubrange(mark.pointers...)
    deletions.removeSubrange(mark.deletions...)
    values.removeSubrange(mark.values...)
  }
}

/// A pointer without its target, and the item of the request that is to blame.
struct ReferenceViolation {
  let item: Int
  let error: DatabaseError
}

extension WriteContext {
  // MARK: saving

  /// Looks at the references that a save adds: queues those that need their target, refuses one owner too many.
  /// Called only for records with references, before the operation gets its checksum.
  func queueReferenceChecks(of saved: Record, over server: RecordBody?, in zone: ZoneTrees) throws(DatabaseError) {
    let former = server.map { $0.withBytes { ReferenceSet(of: $0) } } ?? ReferenceSet()
    let added = saved.body.withBytes { ReferenceSet(of: $0) }.subtracting(former)
    let limit = ownersLimit
    for key in added {
      let (target, kind) = ReferenceSet.parts(of: key)
      if kind == .deleteSelf, limit < .max {
        let count = try view.sourceCount(ofPrefix: key, in: zone)
        if count >= limit {
          throw DatabaseError(
            .limitExceeded, "Too many records would be deleted with the target of a reference.",
            facts: .init(
              zone: saved.id.zone, name: saved.id.name, size: count + 1, limit: limit, source: saved.id,
              target: Record.ID(unchecked: String(decoding: target, as: UTF8.self), in: saved.id.zone)))
        }
      }
      if kind.needsTarget { pending.pointers.append(.init(source: saved.id, key: key, item: pending.item)) }
    }
  }

  /// How many records may own themselves to one target.
  var ownersLimit: Int { limits.referencesPerTarget ?? (database.options.dialect == .cloudKit ? 750 : .max) }

  // MARK: deleting

  /// Deletes what belongs to a record that was just deleted, and what belongs to that, and so on: one operation for each.
  ///
  /// Goes down before it goes on, with a list instead of recursion; of each owner a few hundred records are in memory. A
  /// record that was deleted has no entries any more, so circles end.
  func cascade(from first: Record.ID) throws(DatabaseError) {
    do throws(DatabaseError) {
      var owners = [first]
      while let owner = owners.last {
        let names = try view.sources(
          of: owner.name, kinds: ReferenceKind.deleteSelf.rawValue...ReferenceKind.deleteSelf.rawValue,
          in: try view.existingZone(owner.zone), limit: 256)
        if names.isEmpty { owners.removeLast() }
        for name in names {
          let id = Record.ID(unchecked: name, in: owner.zone)
          let zone = try view.existingZone(owner.zone)
          guard let entry = try view.entry(name, in: zone) else {
            throw failure(view.reader.fault(in: zone.references))
          }
          try deleteOne(id, entry, mayBeNeeded: true)
          if isMutant("cascade-one-level") { continue }
          let isOwner = try view.hasSources(
            of: name, kinds: ReferenceKind.deleteSelf.rawValue...ReferenceKind.deleteSelf.rawValue,
            in: try view.existingZone(owner.zone))
          if isOwner { owners.append(id) }
        }
      }
    } catch {
      pending.unfinished = error
      throw error
    }
  }

  /// Remembers a deleted record that others still need.
  func queueDeletionChecks(of id: Record.ID) throws(DatabaseError) {
    let zone = try view.existingZone(id.zone)
    if zone.references.count > 0, try view.hasSources(of: id.name, kinds: ReferenceKind.needing, in: zone) {
      pending.deletions.append(.init(target: id, item: pending.item))
    }
  }

  // MARK: asking

  /// The first pointer without its target; nil when all is well. Asked when the transaction is about to be committed.
  func firstReferenceFault() throws(DatabaseError) -> DatabaseError? {
    if let unfinished = pending.unfinished { return unfinished }
    if !checksReferences { return nil }
    return try referenceViolations(since: .init(), limit: 1).first?.error
  }

  /// What the changes since `mark` leave without a target: at most one violation for each thing to ask.
  func referenceViolations(
    since mark: PendingReferences.Mark, limit: Int = .max
  ) throws(DatabaseError) -> [ReferenceViolation] {
    if isMutant("accept-missing-targets") { return [] }
    var violations: [ReferenceViolation] = []
    for pointer in pending.pointers[mark.pointers...] where violations.count < limit {
      let (name, kind) = ReferenceSet.parts(of: pointer.key)
      let zoneID = pointer.source.zone
      guard let zone = try view.zone(zoneID), try isEntry(pointer, in: zone) else { continue }
      let target = Record.ID(unchecked: String(decoding: name, as: UTF8.self), in: zoneID)
      if try view.entry(target.name, in: zone) != nil { continue }
      let error = try violation(of: pointer.source, by: target, kind, isDeleted: false)
      violations.append(.init(item: pointer.item, error: error))
    }
    for deletion in pending.deletions[mark.deletions...] where violations.count < limit {
      let target = deletion.target
      guard let zone = try view.zone(target.zone), try view.entry(target.name, in: zone) == nil else { continue }
      let names = try view.sources(of: target.name, kinds: ReferenceKind.needing, in: zone, limit: 1)
      guard let name = names.first else { continue }
      let source = Record.ID(unchecked: name, in: target.zone)
      let isParent = try view.sources(
        of: target.name, kinds: ReferenceKind.validate.rawValue...ReferenceKind.validate.rawValue, in: zone, limit: 1
      ).isEmpty
      let error = try violation(of: source, by: target, isParent ? .parent : .validate, isDeleted: true)
      violations.append(.init(item: deletion.item, error: error))
    }
    // A list has many values under one key: its record is read once for all of them.
    var last: (source: Record.ID, key: String?, targets: Set<Record.ID>)?
    for value in pending.values[mark.values...] where violations.count < limit {
      if last?.source != value.source || last?.key != value.key {
        last = (value.source, value.key, try targets(of: value.source, value.key))
      }
      guard last?.targets.contains(value.target) == true, try !isInRecord(value) else { continue }
      let error = DatabaseError(
        .referenceViolation,
        "Only a reference to the value is saved, and no record has the value: save it as a record of its own, or both together.",
        facts: .init(
          zone: value.source.zone, name: value.source.name, recordType: value.type, key: value.key ?? "parent",
          source: value.source, target: value.target))
      violations.append(.init(item: value.item, error: error))
    }
    return violations
  }

  /// Remembers a value of which a record that was saved has only a reference.
  /// - Parameters:
  ///   - key: the field that has the reference; nil for the parent.
  ///   - type: that of the value's record; nil for any.
  func queueValueCheck(of source: Record.ID, _ key: String?, _ target: Record.ID, type: String?) {
    pending.values.append(.init(source: source, key: key, target: target, type: type, item: pending.item))
  }

  /// What a record refers to under a key, or as its parent; nothing where it is gone.
  private func targets(of source: Record.ID, _ key: String?) throws(DatabaseError) -> Set<Record.ID> {
    guard try view.zone(source.zone) != nil, let record = try view.record(source) else { return [] }
    guard let key else { return Set([record.parent?.id].compactMap { $0 }) }
    switch record[key] as Record.Value? {
    case .reference(let reference): return [reference.id]
    case .references(let list): return Set(list.map(\.id))
    default: return []
    }
  }

  /// Whether there is a record of the value's type under its name.
  private func isInRecord(_ value: PendingReferences.Value) throws(DatabaseError) -> Bool {
    guard try view.zone(value.target.zone) != nil else { return false }
    guard let record = try view.record(value.target) else { return false }
    return value.type.map { record.body.isOf(type: $0) } ?? true
  }

  /// Whether the source still points there.
  private func isEntry(_ pointer: PendingReferences.Pointer, in zone: ZoneTrees) throws(DatabaseError) -> Bool {
    let key = ByteBuffer(capacity: 512)
    key.append(pointer.key)
    key.append(utf8: pointer.source.name)
    let reader = view.reader
    return try view.asDatabaseError { () throws(PageFault) in try reader.value(key.view, in: zone.references) != nil }
  }

  private func violation(
    of source: Record.ID, by target: Record.ID, _ kind: ReferenceKind, isDeleted: Bool
  ) throws(DatabaseError) -> DatabaseError {
    let key = kind == .parent ? "parent" : try view.record(source)?.key(validating: target)
    let culprit = isDeleted ? target : source
    return DatabaseError(
      .referenceViolation,
      isDeleted
        ? "Another record needs the record that was deleted." : "The record that a parent or a reference needs is not there.",
      facts: .init(zone: culprit.zone, name: culprit.name, key: key, source: source, target: target))
  }
}

extension Record {
  /// The first key under which the record validates a target.
  fileprivate func key(validating target: Record.ID) -> String? {
    keys.first { key in
      switch self[key] as Value? {
      case .reference(let reference): reference.action == .validate && reference.id == target
      case .references(let list): list.contains { $0.action == .validate && $0.id == target }
      default: false
      }
    }
  }
}
