import DaybookEngine

/// Replay of records in the order of their names: gathers, then applies zone by zone and record by record (`GatheredRecords` says
/// why that comes to what `apply` comes to).
///
/// Always true: after `flush` nothing is gathered. What cannot be gathered ends the run and goes through `apply`.

extension RecordEntry {
  init(_ operation: ReplayRun.Gathered, contributes: Bool) {
    self.init(place: operation.place, sequence: operation.sequence, ordinal: operation.ordinal)
    self.contributes = contributes
  }
}

extension ReplayRun.Gathered {
  /// Only saves and deletions of records are gathered.
  var isSave: Bool { kind == OperationKind.saveRecord.rawValue }
}

extension RecordApplier {
  func replay(
    _ operation: ByteView, place: Place, sequence: UInt64, ordinal: UInt32, to changes: StoreTransaction
  ) throws(LogFault) {
    guard let kind = try OperationKind(of: operation) else { return }
    try alignShapes(changes)
    switch kind.replay {
    case .gathered:
      // What an image contains is in the order of names already.
      if !image.hasStamps, sequence != gathered.stampedSequence,
        gathered.append(operation, place: place, sequence: sequence, ordinal: ordinal, self)
      {
        if gathered.run.byteCount >= changes.replayByteCount { try applyGathered(changes) }
        return
      }
    case .atOnce:
      return try apply(operation, place: place, sequence: sequence, ordinal: ordinal, to: changes)
    case .barrier:
      if kind == .imageStamps { gathered.stampedSequence = sequence }
    }
    if gathered.run.count > 0 { try applyGathered(changes) }
    try apply(operation, place: place, sequence: sequence, ordinal: ordinal, to: changes)
  }

  /// Applies what has been gathered, zone by zone.
  func applyGathered(_ changes: StoreTransaction) throws(LogFault) {
    try image.put(changes, self)
    if isMutant("search-budget-per-run") { formerSearch.reset() } else { formerSearch.begin(0..<0) }
    let zoneKeys = gathered.zoneKeys
    gathered.prepare()
    for zone in zoneKeys.indices.sorted(by: { zoneKeys[$0].lexicographicallyPrecedes(zoneKeys[$1]) }) {
      try zoneKeys[zone].withView { (key) throws(LogFault) in
        try applyGathered(gathered.run.ranks(of: zone), ofZone: key, epoch: gathered.epochs[zone], changes)
      }
    }
    gathered.removeAll(keepingCapacity: true)
    formerSearch.begin(0..<0)
  }

  private func applyGathered(
    _ ranks: Range<Int>, ofZone zoneKey: ByteView, epoch: UInt64?, _ changes: StoreTransaction
  ) throws(LogFault) {
    try open(zoneKey, changes)
    guard var zone = openZone, !zone.isDeleted, epoch == nil || epoch == zone.epoch else { throw .inconsistent }
    let run = gathered.run
    formerSearch.begin(ranks)
    var rank = ranks.lowerBound
    while rank < ranks.upperBound {
      let end = run.endOfKey(atRank: rank, in: ranks)
      try applyVersions(rank..<end, &zone, changes)
      rank = end
    }
    try applyContributions(&zone, changes)
    try moveJournal(ranks, &zone, changes)
    setOpenZone(zone)
    try touch(run.operation(run.position(atLogRank: ranks.upperBound - 1)).sequence, changes)
  }

  /// What the operations of one record come to.
  ///
  /// Its entry by name is put once. Everything else is done as `apply` does it, version by version, but for what bodies contribute, and the change journal.
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
    /// Of the version before, if it was gathered.
    var type = name.prefix(0)
    for rank in ranks {
      let position = run.position(atRank: rank)
      let operation = run.operation(position)
      if let stored {
        addLiveBytes(-Int(stored.place.byteCount), to: &zone, changes)
        if !isGathered {
          try gatherFormer(stored.sequence, stored.ordinal, position: position)
        } else if !UTF8Order.equal(type, run.rest(position)), !isMutant("replay-any-type") {
          // One by one, the version before would not be found in the change journal.
          throw .inconsistent
        }
      }
      type = run.rest(position)
      let isIndexed = indexes.covers(type)
      addLiveBytes(Int(operation.byteCount), to: &zone, changes)
      if operation.isSave {
        let contents = gathered.contents(of: operation)
        let contributes = zone.takes(contents?.trees ?? ZoneTreeSet())
        if stored == nil {
          if let place = tombstone {
            addLiveBytes(-Int(place.byteCount), to: &zone, changes)
            try changes.remove(name, from: &zone.tombstones)
            tombstone = nil
          } else if zone.tombstones.count > 0 {
            try removeFormerTombstone(name, &zone, changes)
          }
        }
        if contributes || isIndexed || stored?.contributes ?? false {
          try gatherContributions(
            of: name, from: isGathered ? nil : stored, before, to: contents, isIndexed: isIndexed, &zone, changes)
        }
        stored = RecordEntry(operation, contributes: contributes)
        before = contents
      } else {
        guard let gone = stored else { throw .inconsistent }
        if gone.contributes || isIndexed {
          try gatherContributions(
            of: name, from: isGathered ? nil : gone, before, to: nil, isIndexed: isIndexed, &zone, changes)
        }
        try putTombstone(name, RecordEntry(operation, contributes: false), in: &zone, changes)
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
    if last.isSave {
      value.truncate(to: 0)
      RecordEntry(last, contributes: zone.takes(gathered.contents(of: last)?.trees ?? ZoneTreeSet())).append(to: value)
      if try changes.put(name, value.view, in: &zone.byName, old: old) { return nil }
    } else if try !changes.remove(name, from: &zone.byName, old: old) {
      return nil
    }
    guard let entry = RecordEntry(old.view) else { throw .inconsistent }
    return entry
  }

  // MARK: what bodies contribute

  /// Notes what comes and goes with one version of a record. An entry is one record's, and sums are added up in any order, so no
  /// other record has a say in it.
  /// - Parameters:
  ///   - stored: the version before, when it was there before the run.
  ///   - before: what the version before contributes, when it was gathered.
  private func gatherContributions(
    of name: ByteView, from stored: RecordEntry?, _ before: GatheredRecords.Contents?, to new: GatheredRecords.Contents?,
    isIndexed: Bool, _ zone: inout ZoneTrees, _ changes: StoreTransaction
  ) throws(LogFault) {
    var (list, range) = (gathered.entries, before?.entries ?? 0..<0)
    if let stored {
      former.removeAll()
      range = try collectFormer(of: name, at: stored, isIndexed: isIndexed, zone, changes)
      list = former
    }
    var difference = ContributionDifference(from: list, range, to: gathered.entries, new?.entries ?? 0..<0, in: zone.trees)
    while let change = difference.next() {
      gathered.contributions.append(
        kind: change.isComing ? GatheredRecords.coming : GatheredRecords.going, key: change.key, rest: change.value,
        group: UInt32(change.tree.rawValue), mark: Int32(clamping: change.amount), place: .none, sequence: 0, ordinal: 0)
    }
    // Former bodies may contribute more than the run has room for.
    if gathered.contributions.byteCount >= changes.replayByteCount { try applyContributions(&zone, changes) }
  }

  /// Tree by tree, ascending. Of an entry the last change decides; what is added to a sum is added up first.
  private func applyContributions(_ zone: inout ZoneTrees, _ changes: StoreTransaction) throws(LogFault) {
    let run = gathered.contributions
    if run.count == 0 { return }
    run.sort(groupCount: ZoneTree.count)
    for tree in zone.trees {
      let ranks = run.ranks(of: tree.rawValue)
      var rank = ranks.lowerBound
      while rank < ranks.upperBound {
        let end = run.endOfKey(atRank: rank, in: ranks)
        let position = run.position(atRank: end - 1)
        let entry = run.key(position)
        if tree.isSum {
          let amount = (rank..<end).reduce(Int64(0)) { $0 + Int64(run.operation(run.position(atRank: $1)).mark) }
          if amount != 0 { try add(amount, to: entry, in: tree, &zone, changes) }
        } else if run.operation(position).kind == GatheredRecords.coming {
          try changes.put(entry, run.rest(position), in: &zone[tree])
        } else {
          try changes.remove(entry, from: &zone[tree])
        }
        rank = end
      }
    }
    run.removeAll(keepingCapacity: true)
  }

  // MARK: change journal and tombstones

  /// An entry of the change journal that was there before the run has to go.
  /// - Parameter position: of the operation that takes the place of a version which lived, and has its type; nil for a tombstone.
  private func gatherFormer(_ sequence: UInt64, _ ordinal: UInt32, position: Int?) throws(LogFault) {
    let first = gathered.run.operation(0)
    // An entry from before the run that names one of its operations was never written by us.
    guard (sequence, ordinal) < (first.sequence, first.ordinal) else { throw .inconsistent }
    gathered.formers.append(.init(sequence: sequence, ordinal: ordinal, position: position.map { Int32($0) } ?? -1))
  }

  /// A record that had been deleted before the run comes back.
  private func removeFormerTombstone(
    _ name: ByteView, _ zone: inout ZoneTrees, _ changes: StoreTransaction
  ) throws(LogFault) {
    old.truncate(to: 0)
    guard try changes.remove(name, from: &zone.tombstones, old: old) else { return }
    guard let tombstone = TombstoneEntry(old.view) else { throw .inconsistent }
    try gatherFormer(tombstone.sequence, tombstone.ordinal, position: nil)
  }

  /// Takes out what records had before the run, in the order of the log, then puts what they have now, type by type.
  private func moveJournal(
    _ ranks: Range<Int>, _ zone: inout ZoneTrees, _ changes: StoreTransaction
  ) throws(LogFault) {
    gathered.formers.sort { ($0.sequence, $0.ordinal) < ($1.sequence, $1.ordinal) }
    for former in gathered.formers {
      if former.position < 0 {
        try removeChange(former.sequence, former.ordinal, &zone, changes)
      } else {
        let type = gathered.run.rest(Int(former.position))
        try leaveJournal(type, former.sequence, former.ordinal, &zone, changes)
      }
    }
    gathered.formers.removeAll(keepingCapacity: true)
    let run = gathered.run
    try gathered.forEachLast(in: ranks) { (position) throws(LogFault) in
      let operation = run.operation(position)
      try changeJournal(
        RecordEntry(operation, contributes: false), ofType: operation.isSave ? run.rest(position) : nil, &zone, changes)
    }
  }
}
