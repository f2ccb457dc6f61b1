import DaybookEngine

/// Derived trees: what a record has in them when it is made, changed and deleted.
extension RecordApplier {
  /// Makes what one record's former version contributed what its new one does; nil stands for none.
  /// - Parameters:
  ///   - isIndexed: whether the record's type has indexes, and the record has entries of them.
  ///   - isImage: entries of indexes are gathered by the image.
  func changeContributions(
    of name: ByteView, from oldEntry: RecordEntry?, to version: RecordVersion?, isIndexed: Bool, isImage: Bool = false,
    _ zone: inout ZoneTrees, _ changes: StoreTransaction
  ) throws(LogFault) {
    coming.removeAll()
    former.removeAll()
    // The new one first: reading the old one may take the memory of the other's bytes.
    let newRange = version.map { coming.collect($0, leavingIndexes: !isIndexed) } ?? 0..<0
    let formerRange = try oldEntry.map { (entry) throws(LogFault) in
      try collectFormer(of: name, at: entry, isIndexed: isIndexed, zone, changes)
    }
    var difference = ContributionDifference(from: former, formerRange ?? 0..<0, to: coming, newRange, in: zone.trees)
    while let change = difference.next() {
      if change.tree.isSum {
        try add(change.amount, to: change.key, in: change.tree, &zone, changes)
      } else if isImage, change.tree == .indexes {
        image.append(entry: change.key, change.value, zone: openKey.view)
      } else if change.isComing {
        try changes.put(change.key, change.value, in: &zone[change.tree])
      } else {
        try changes.remove(change.key, from: &zone[change.tree])
      }
    }
  }

  /// Puts what a record's stored version contributes into `former`. Returns where it is.
  func collectFormer(
    of name: ByteView, at entry: RecordEntry, isIndexed: Bool, _ zone: ZoneTrees, _ changes: StoreTransaction
  ) throws(LogFault) -> Range<Int> {
    if !(entry.contributes || isIndexed) || !zone.holdsContributions { return 0..<0 }
    do throws(StoreError) {
      let stored = Operation.payload(try changes.operation(at: entry.place))
      let body: ByteView
      do throws(BodyFault) { body = try shapes.spelled(stored, in: spelledBody) } catch {
        throw StoreError.operation(offset: entry.place.offset)
      }
      guard let identity = BodyIdentity.body(body), identity.isOf(key: name, zone: openKey.view) else {
        throw .operation(offset: entry.place.offset)
      }
      return former.collect(RecordVersion(body, identity, entry))
    } catch {
      // It became corrupt after a later version was committed. The trees know, too, if not as fast: one lost body, or an
      // entry that was forged to lead to another record's, should not keep a file from opening. Sums stay what they are.
      return try formerSearch.collect(name, of: gathered.run, zone, changes, to: former)
    }
  }

  /// Adds to one sum. One that comes to nothing goes.
  func add(
    _ amount: Int64, to key: ByteView, in tree: ZoneTree, _ zone: inout ZoneTrees, _ changes: StoreTransaction
  ) throws(LogFault) {
    var before: Int64 = 0
    if let stored = try changes.value(key, in: zone[tree]) {
      guard let sum = ZoneTree.sum(stored) else { throw .inconsistent }
      before = sum
    }
    let (sum, isOverflow) = before.addingReportingOverflow(amount)
    guard !isOverflow, sum >= 0, sum < ZoneTree.sumLimit else { throw .inconsistent }
    if sum == 0 {
      try changes.remove(key, from: &zone[tree])
    } else {
      value.truncate(to: 0)
      value.append(uint64: UInt64(sum))
      try changes.put(key, value.view, in: &zone[tree])
    }
  }
}
