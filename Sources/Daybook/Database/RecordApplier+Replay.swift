import DaybookEngine

/// Replay of records in the order of their names: gathers, then applies zone by zone and record by record (`GatheredRecords` says
/// why that comes to what `apply` comes to).
///
/// Always true: after `flush` nothing is gathered. What cannot be gathered ends the run and goes through `apply`.

extension RecordEntry {
  init(_ operation: ReplayRun.Gathered, points: Bool) {
    self.init(place: operation.place, sequence: operation.sequence, ordinal: operation.ordinal)
    self.points = points
  }
}

extension RecordApplier {
  func replay(
    _ operation: ByteView, place: Place, sequence: UInt64, ordinal: UInt32, to changes: StoreTransaction
  ) throws(LogFault) {
    switch Operation.kind(operation) {
    case OperationKind.saveRecord, OperationKind.deleteRecord:
      // What an image holds stands in the order of names as it is.
      if !image.hasStamps, sequence != gathered.stampedSequence,
        gathered.append(operation, place: place, sequence: sequence, ordinal: ordinal)
      {
        if gathered.run.byteCount >= changes.replayByteCount { try applyGathered(changes) }
        return
      }
    case OperationKind.commitInfo, OperationKind.lineage, OperationKind.setMetadata, OperationKind.deleteMetadata,
      OperationKind.declareFields:
      // They change nothing that records read or change.
      return try apply(operation, place: place, sequence: sequence, ordinal: ordinal, to: changes)
    case OperationKind.imageStamps: gathered.stampedSequence = sequence
    default: break
    }
    if gathered.run.count > 0 { try applyGathered(changes) }
    try apply(operation, place: place, sequence: sequence, ordinal: ordinal, to: changes)
  }

  /// Applies what has been gathered, zone by zone.
  func applyGathered(_ changes: StoreTransaction) throws(LogFault) {
    try image.putJournal(changes, self)
    let zoneKeys = gathered.zoneKeys
    gathered.prepare()
    for zone in zoneKeys.indices.sorted(by: { zoneKeys[$0].lexicographicallyPrecedes(zoneKeys[$1]) }) {
      try zoneKeys[zone].withView { (key) throws(LogFault) in
        try applyGathered(gathered.run.ranks(of: zone), ofZone: key, changes)
      }
    }
    gathered.removeAll(keepingCapacity: true)
  }

  private func applyGathered(
    _ ranks: Range<Int>, ofZone zoneKey: ByteView, _ changes: StoreTransaction
  ) throws(LogFault) {
    try open(zoneKey, changes)
    guard var zone = openZone, !zone.isDeleted else { throw .inconsistent }
    let run = gathered.run
    var rank = ranks.lowerBound
    while rank < ranks.upperBound {
      let end = run.endOfKey(atRank: rank, in: ranks)
      try applyVersions(rank..<end, &zone, changes)
      rank = end
    }
    try applyReferences(&zone, changes)
    try moveJournal(ranks, &zone, changes)
    try countAssets(&zone, changes)
    setOpenZone(zone)
    try touch(run.operation(run.position(atLogRank: ranks.upperBound - 1)).sequence, changes)
  }

  /// What the operations of one record come to.
  ///
  /// Its entry by name is put once. Everything else is done as `apply` does it, version by version, but for journal and assets.
  private func applyVersions(
    _ ranks: Range<Int>, _ zone: inout ZoneTrees, _ changes: StoreTransaction
  ) throws(LogFault) {
    let run = gathered.run
    let last = run.position(atRank: isMutant("replay-first-of-record") ? ranks.lowerBound : ranks.upperBound - 1)
    let name = run.key(last)
    gathered.isLast[last] = true
    /// The version before each operation, and what it has if it was gathered, too.
    var stored = try putEntry(of: run.operation(last), name, &zone, changes)
    var before: GatheredRecords.Contents?
    var isGathered = false
    var tombstone: Place?
    for rank in ranks {
      let position = run.position(atRank: rank)
      let operation = run.operation(position)
      let replaced = stored?.place
      if let stored {
        count(-Int(stored.place.byteCount), in: &zone, changes)
        if !isGathered { try leaveJournal(stored.sequence, stored.ordinal, isTombstone: false) }
      }
      count(Int(operation.byteCount), in: &zone, changes)
      if operation.kind == OperationKind.saveRecord {
        let contents = gathered.contents(of: operation)
        let points = contents?.points ?? false
        if stored == nil {
          if let place = tombstone {
            count(-Int(place.byteCount), in: &zone, changes)
            try changes.remove(name, from: &zone.tombstones)
            tombstone = nil
          } else if zone.tombstones.count > 0 {
            try leaveTombstones(name, &zone, changes)
          }
          setTypeKey(run.rest(position), name)
          try changes.put(key.view, key.view.prefix(0), in: &zone.byType)
        }
        if points || stored?.points ?? false {
          try gatherReferences(
            of: name, from: try references(of: name, at: stored, before, isGathered, zone, changes),
            to: contents?.references ?? ReferenceSet(), &zone, changes)
        }
        if contents?.namesAssets ?? false || replaced != nil && (gathered.hasAssets || zone.assets.count > 0) {
          gathered.assetChanges.append(.init(position: position, replaced: replaced))
        }
        stored = RecordEntry(operation, points: points)
        before = contents
      } else {
        guard let gone = stored else { throw .inconsistent }
        if gone.points {
          try gatherReferences(
            of: name, from: try references(of: name, at: gone, before, isGathered, zone, changes), to: ReferenceSet(),
            &zone, changes)
        }
        if gathered.hasAssets || zone.assets.count > 0 {
          gathered.assetChanges.append(.init(position: position, replaced: replaced))
        }
        setTypeKey(run.rest(position), name)
        try changes.remove(key.view, from: &zone.byType)
        try putTombstone(name, RecordEntry(operation, points: false), in: &zone, changes)
        stored = nil
        before = nil
        tombstone = operation.place
      }
      isGathered = true
    }
  }

  /// Puts or removes a record's entry by name, as its last operation says. Returns the entry that was there.
  private func putEntry(
    of last: ReplayRun.Gathered, _ name: ByteView, _ zone: inout ZoneTrees, _ changes: StoreTransaction
  ) throws(LogFault) -> RecordEntry? {
    old.truncate(to: 0)
    if last.kind == OperationKind.saveRecord {
      value.truncate(to: 0)
      RecordEntry(last, points: gathered.contents(of: last)?.points ?? false).append(to: value)
      if try changes.put(name, value.view, in: &zone.byName, old: old) { return nil }
    } else if try !changes.remove(name, from: &zone.byName, old: old) {
      return nil
    }
    guard let entry = RecordEntry(old.view) else { throw .inconsistent }
    return entry
  }

  // MARK: references

  private func references(
    of name: ByteView, at stored: RecordEntry?, _ before: GatheredRecords.Contents?, _ isGathered: Bool,
    _ zone: ZoneTrees, _ changes: StoreTransaction
  ) throws(LogFault) -> ReferenceSet {
    if isGathered { return before?.references ?? ReferenceSet() }
    guard let stored else { return ReferenceSet() }
    return try references(of: name, at: stored, zone, changes)
  }

  /// Notes what comes and goes with one version of a record. Entries end with the name, so no other record has a say in them.
  private func gatherReferences(
    of name: ByteView, from former: ReferenceSet, to new: ReferenceSet, _ zone: inout ZoneTrees,
    _ changes: StoreTransaction
  ) throws(LogFault) {
    for (kind, entries) in [
      (GatheredRecords.going, former.subtracting(new)), (GatheredRecords.coming, new.subtracting(former)),
    ] {
      for entry in entries {
        setReferenceKey(entry, name)
        gathered.references.append(
          kind: kind, key: key.view, rest: key.view.prefix(0), place: .none, sequence: 0, ordinal: 0)
      }
    }
    // Former bodies may point to more than the run has room for.
    if gathered.references.byteCount >= changes.replayByteCount { try applyReferences(&zone, changes) }
  }

  private func applyReferences(_ zone: inout ZoneTrees, _ changes: StoreTransaction) throws(LogFault) {
    let run = gathered.references
    if run.count == 0 { return }
    run.sort()
    let ranks = run.ranks()
    var rank = 0
    while rank < ranks.upperBound {
      let end = run.endOfKey(atRank: rank, in: ranks)
      let position = run.position(atRank: end - 1)
      let entry = run.key(position)
      if run.operation(position).kind == GatheredRecords.coming {
        try changes.put(entry, entry.prefix(0), in: &zone.references)
      } else if !isMutant("keep-old-references") {
        try changes.remove(entry, from: &zone.references)
      }
      rank = end
    }
    run.removeAll(keepingCapacity: true)
  }

  // MARK: journal and tombstones

  /// An entry of the journal that was there before the run has to go.
  private func leaveJournal(_ sequence: UInt64, _ ordinal: UInt32, isTombstone: Bool) throws(LogFault) {
    let first = gathered.run.operation(0)
    // An entry from before the run that names one of its operations was never written by us.
    guard (sequence, ordinal) < (first.sequence, first.ordinal) else { throw .inconsistent }
    gathered.formers.append(.init(sequence: sequence, ordinal: ordinal, isTombstone: isTombstone))
  }

  /// A record that had been deleted before the run comes back.
  private func leaveTombstones(
    _ name: ByteView, _ zone: inout ZoneTrees, _ changes: StoreTransaction
  ) throws(LogFault) {
    old.truncate(to: 0)
    guard try changes.remove(name, from: &zone.tombstones, old: old) else { return }
    guard old.count == 12 else { throw .inconsistent }
    try leaveJournal(old.view.uint64(at: 0), old.view.uint32(at: 8), isTombstone: true)
  }

  /// Takes out what records had before the run, then puts what they have now; both ascending.
  private func moveJournal(
    _ ranks: Range<Int>, _ zone: inout ZoneTrees, _ changes: StoreTransaction
  ) throws(LogFault) {
    gathered.formers.sort { ($0.sequence, $0.ordinal) < ($1.sequence, $1.ordinal) }
    for former in gathered.formers {
      if former.isTombstone {
        try forgetJournaled(former.sequence, former.ordinal, &zone, changes)
      } else {
        JournalKey.set(key, sequence: former.sequence, ordinal: former.ordinal)
        try changes.remove(key.view, from: &zone.journal)
      }
    }
    gathered.formers.removeAll(keepingCapacity: true)
    let run = gathered.run
    for rank in ranks {
      let position = run.position(atLogRank: rank)
      guard gathered.isLast[position] else { continue }
      let operation = run.operation(position)
      try journal(
        RecordEntry(operation, points: false), isDeleted: operation.kind == OperationKind.deleteRecord, &zone, changes)
    }
  }

  // MARK: assets

  /// In the order of the log, as `apply` would: what an entry says of a content's size is what was said first.
  private func countAssets(_ zone: inout ZoneTrees, _ changes: StoreTransaction) throws(LogFault) {
    if gathered.assetChanges.isEmpty { return }
    gathered.assetChanges.sort { $0.position < $1.position }
    for change in gathered.assetChanges {
      let contents = gathered.contents(of: gathered.run.operation(change.position))
      if contents?.namesAssets ?? false || zone.assets.count > 0 && change.replaced != nil {
        try AssetCounts.change(from: change.replaced, to: contents?.assets ?? [], of: &zone, changes)
      }
    }
    gathered.assetChanges.removeAll(keepingCapacity: true)
  }
}
