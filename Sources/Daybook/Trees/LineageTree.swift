import DaybookEngine

/// The tree of lineages: {first sequence} → lineage. Commits of one lineage and number are one commit, in whatever copy of a file.
enum LineageTree {
  /// The lineage of the last commit; zero when there is none, nil when the tree cannot be read.
  static func last(in store: Store) -> UInt64? {
    guard let pin = try? store.beginRead() else { return nil }
    defer { store.endRead(pin) }
    var cursor = pin.reader.cursor(in: pin.root(Roots.lineages))
    do throws(PageFault) {
      guard try cursor.last() else { return 0 }
      return cursor.value.count == 8 ? cursor.value.uint64(at: 0) : nil
    } catch { return nil }
  }

  /// The last commit up to `known` that a file has, too, when that one is of a lineage. Zero when the file does not have the lineage,
  /// though earlier ones may be the same: it says too little rather than too much.
  static func lastCommon(with lineage: UInt64, through known: UInt64, in store: Store) -> UInt64 {
    guard let pin = try? store.beginRead() else { return 0 }
    defer { store.endRead(pin) }
    let key = ByteBuffer(capacity: 16)
    var cursor = pin.reader.cursor(in: pin.root(Roots.lineages))
    var isFound = lineage == 0
    do throws(PageFault) {
      while try cursor.next() {
        cursor.key(into: key)
        // The next lineage begins here.
        if isFound { return min(known, key.view.bigEndianUInt64(at: 0) &- 1) }
        isFound = cursor.value.count == 8 && cursor.value.uint64(at: 0) == lineage
      }
    } catch { return 0 }
    return isFound ? min(known, pin.sequence) : 0
  }
}
