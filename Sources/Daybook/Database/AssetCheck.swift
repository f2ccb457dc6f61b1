import DaybookEngine

/// What the check looks at of assets: that their counts are what the records name, and that their files are what they should.
enum AssetCheck {
  /// Compares what the records of a zone name with the zone's tree.
  static func compare(
    _ named: [AssetDigest: UInt64], with root: TreeRoot, _ view: ReadView, zoneName: String,
    _ report: inout Database.CheckReport
  ) throws {
    if named.isEmpty, root.count == 0 { return }
    var rest = named
    let key = ByteBuffer(capacity: AssetDigest.byteCount)
    var cursor = view.reader.cursor(in: root)
    var isValid = try cursor.first()
    while isValid {
      cursor.key(into: key)
      if key.count == AssetDigest.byteCount, let entry = AssetCounts.Entry(cursor.value) {
        let digest = AssetDigest(key.view)
        let count = rest.removeValue(forKey: digest) ?? 0
        if count != entry.count {
          report.add("zone \(zoneName): asset \(digest) is named \(count) times, and counted \(entry.count) times")
        }
      } else {
        report.add("zone \(zoneName): the count of an asset is malformed")
      }
      isValid = try cursor.next()
    }
    for digest in rest.keys.sorted() { report.add("zone \(zoneName): asset \(digest) is named, and not counted") }
  }
}

extension Database {
  /// Looks at the file of each content that records name; all of its bytes at `.deep`.
  func checkAssets(
    of view: ReadView, _ depth: CheckDepth, _ progress: ((_ done: Int, _ total: Int) -> Bool)?, _ report: inout CheckReport
  ) throws(DatabaseError) {
    let named: [AssetDigest: AssetCounts.Entry]
    do { named = try view.assets() } catch {
      report.add("the assets cannot be listed: \(error)")
      return
    }
    report.assetCount = named.count
    let total = named.totalByteCount
    var done = 0
    for (digest, entry) in named.sorted(by: { $0.key < $1.key }) {
      let byteCount = Int(clamping: entry.byteCount)
      do throws(AssetReading<DatabaseError>) {
        if depth == .structure {
          do { try library.store.open(digest, byteCount: byteCount).close() } catch { throw .fault(error) }
        } else {
          try library.store.read(digest, byteCount: byteCount) { (piece) throws(DatabaseError) in
            done += piece.count
            guard progress?(done, total) ?? true else {
              throw DatabaseError(.operationCancelled, "The check was stopped.", facts: .init(path: path))
            }
          }
        }
      } catch {
        switch error {
        case .caller(let error): throw error
        case .fault(.missing(let path)): report.add("the file of an asset is missing: \(path)")
        case .fault(.changed(let path, _, _)): report.add("the file of an asset is not what its name says: \(path)")
        case .fault(.disk(let failure)): report.add("the file of an asset cannot be read: \(failure)")
        }
      }
    }
  }
}
