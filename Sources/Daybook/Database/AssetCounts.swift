import DaybookEngine

/// How often the live records of a zone name each content: a tree that `RecordApplier.apply` keeps, from the body that a
/// record had and the one that it gets. What is inside a record, and what older versions name, is not counted.
///
/// Always true: a content has a key exactly if a live record of the zone names it. One exception: an old body that rotted
/// away before it was replaced counts for ever. Then a file stays too long, and the check says so; none goes too early.
enum AssetCounts {
  /// What the tree says of a content.
  struct Entry {
    static let byteCount = 16
    /// How often live records of the zone name it.
    var count: UInt64
    /// Its size, so that nobody need read a record to know it.
    var byteCount: UInt64

    init?(_ value: ByteView) {
      guard value.count == Entry.byteCount, value.uint64(at: 0) > 0, value.uint64(at: 0) < 1 << 60 else { return nil }
      count = value.uint64(at: 0)
      byteCount = value.uint64(at: 8)
    }
  }

  /// Counts what `body` names, and no more what the version at `replaced` named. Nothing is looked up when neither does.
  static func change(
    from replaced: Place?, to body: ByteView?, of zone: inout ZoneTrees, _ changes: StoreTransaction
  ) throws(LogFault) {
    try change(from: replaced, to: body.map { AssetNames.names(in: $0) } ?? [], of: &zone, changes)
  }

  /// The same for what a body was found to name.
  static func change(
    from replaced: Place?, to names: [AssetNames.Name], of zone: inout ZoneTrees, _ changes: StoreTransaction
  ) throws(LogFault) {
    var differences: [AssetNames.Name: Int64] = [:]
    for name in names { differences[name, default: 0] += 1 }
    if let replaced, !isMutant("miscount-replaced-assets"), let operation = try? changes.operation(at: replaced) {
      for name in AssetNames.names(in: Operation.payload(operation)) { differences[name, default: 0] -= 1 }
    }
    if differences.isEmpty { return }
    // In the order of the keys, so that the same commits make the same pages; and of the sizes, because a forged body may name
    // one content with several.
    let ordered = differences.sorted { ($0.key.digest, $0.key.byteCount) < ($1.key.digest, $1.key.byteCount) }
    for (name, difference) in ordered where difference != 0 {
      try change(name, by: difference, of: &zone, changes)
    }
  }

  private static func change(
    _ name: AssetNames.Name, by difference: Int64, of zone: inout ZoneTrees, _ changes: StoreTransaction
  ) throws(LogFault) {
    let key = name.digest.bytes
    try key.withView { (key) throws(LogFault) in
      var (old, byteCount) = (Int64(0), name.byteCount)
      if let value = try changes.value(key, in: zone.assets) {
        guard let entry = Entry(value) else { throw .inconsistent }
        (old, byteCount) = (Int64(entry.count), entry.byteCount)
      }
      let (new, isOverflow) = old.addingReportingOverflow(difference)
      guard !isOverflow, new >= 0 else { throw .inconsistent }
      if new == 0 {
        try changes.remove(key, from: &zone.assets)
      } else {
        let value = ByteBuffer(capacity: Entry.byteCount)
        value.append(uint64: UInt64(new))
        value.append(uint64: byteCount)
        try changes.put(key, value.view, in: &zone.assets)
      }
    }
  }
}

extension [AssetDigest: AssetCounts.Entry] {
  /// The bytes of all contents; as many as a number holds where a forged file says more.
  var totalByteCount: Int {
    values.reduce(0) { sum, entry in
      let (next, isOverflow) = sum.addingReportingOverflow(Int(clamping: entry.byteCount))
      return isOverflow ? .max : next
    }
  }
}

extension ReadView {
  /// Calls `body` with every content that live records name, zone by zone.
  func forEachAsset(_ body: (Zone.ID, AssetDigest, AssetCounts.Entry) -> Void) throws(DatabaseError) {
    for zone in try zones() {
      guard let trees = try self.zone(zone.id), trees.assets.count > 0 else { continue }
      let key = ByteBuffer(capacity: AssetDigest.byteCount)
      try mapped { () throws(PageFault) in
        var cursor = reader.cursor(in: trees.assets)
        var isValid = try cursor.first()
        while isValid {
          cursor.key(into: key)
          guard key.count == AssetDigest.byteCount, let entry = AssetCounts.Entry(cursor.value) else {
            throw PageFault(offset: 0, reason: .value)
          }
          body(zone.id, AssetDigest(key.view), entry)
          isValid = try cursor.next()
        }
      }
    }
  }

  /// Every content that live records of any zone name, once, with its size and the number of names.
  func assets() throws(DatabaseError) -> [AssetDigest: AssetCounts.Entry] {
    var result: [AssetDigest: AssetCounts.Entry] = [:]
    try forEachAsset { _, digest, entry in
      if let known = result[digest] {
        // A forged file may count as often as it likes.
        let (sum, isOverflow) = known.count.addingReportingOverflow(entry.count)
        result[digest]?.count = isOverflow ? .max : sum
      } else {
        result[digest] = entry
      }
    }
    return result
  }
}
