import DaybookEngine

extension Database {
  /// Looks at the file of each content that records name; all of its bytes at `.deep`.
  func checkAssets(
    of view: ReadView, _ depth: CheckDepth, _ progress: ((_ done: Int, _ total: Int) -> Bool)?, _ report: inout CheckReport
  ) throws(DatabaseError) {
    let named: [AssetDigest: AssetTree.Entry]
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
        case .fault(.disk(let failure)) where failure.kind == .notRegular || isMutant("find-what-the-disk-refuses"):
          report.add("the file of an asset cannot be read: \(failure)")
        // The bytes may be sound, but they are out of reach, and other asset files need not be.
        case .fault(.disk(let failure)) where failure.isOfOnePlace && !isMutant("end-at-unreadable-asset"):
          report.add("the disk fails to read the file of an asset: \(failure)")
        // The disk gave no answer: that says nothing of the content.
        case .fault(.disk(let failure)): throw DatabaseError(failure)
        }
      }
    }
  }
}
