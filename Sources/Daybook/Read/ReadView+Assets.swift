import DaybookEngine

extension [AssetDigest: AssetTree.Entry] {
  /// The bytes of all asset files; the highest number there is where a forged file says more.
  var totalByteCount: Int {
    values.reduce(0) { sum, entry in
      let (next, isOverflow) = sum.addingReportingOverflow(Int(clamping: entry.byteCount))
      return isOverflow ? .max : next
    }
  }
}

extension ReadView {
  /// Calls `body` with every asset file that live records refer to, zone by zone.
  /// - Throws: `corrupted` where zones have more entries than the log has bytes for: in a forged file many zones may share one
  ///   large tree.
  func forEachAsset(_ body: (Zone.ID, AssetDigest, AssetTree.Entry) -> Void) throws(DatabaseError) {
    // Each entry is there because a body in the log has the digest.
    var remaining = logEnd / UInt64(AssetDigest.byteCount)
    for zone in try zones() {
      guard let trees = try self.zone(zone.id), trees.assets.count > 0 else { continue }
      let key = ByteBuffer(capacity: AssetTree.Entry.keyByteCount)
      try asDatabaseError { () throws(PageFault) in
        var cursor = reader.cursor(in: trees.assets)
        while try cursor.next() {
          cursor.key(into: key)
          guard remaining > 0 || isMutant("walk-shared-trees"),
            let entry = AssetTree.Entry(key: key.view, value: cursor.value)
          else { throw reader.fault(in: trees.assets) }
          remaining -= min(remaining, 1)
          body(zone.id, AssetDigest(key.view.prefix(AssetDigest.byteCount)), entry)
        }
      }
    }
  }

  /// Every asset file that live records of any zone refer to, once, with its size and the number of references. Where a forged
  /// file gives several sizes, with one of them.
  func assets() throws(DatabaseError) -> [AssetDigest: AssetTree.Entry] {
    var result: [AssetDigest: AssetTree.Entry] = [:]
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
