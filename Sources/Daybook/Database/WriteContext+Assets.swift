import DaybookEngine

/// Taking in assets: the content of an asset that was set is read once, at save, and stored in its record.
extension WriteContext {
  /// The record with its edited assets as they are stored.
  ///
  /// - Throws: `limitExceeded` for an asset that is too large, `assetFileNotFound` and `assetFileModified` for its file,
  ///   `assetNotAvailable` for an asset without content, each with the key; the caller's record stays as it was.
  func storingAssets(of record: Record) throws(DatabaseError) -> Record {
    let limit = min(database.options.inlineAssetByteCount, limits.assetByteCount)
    var stored = record
    try stored.replaceEditedAssets { (key, asset) throws(DatabaseError) in
      do throws(DatabaseError) { return try asset.withContent(ofAtMost: limit) } catch {
        throw error.adding { facts in
          facts.zone = record.id.zone
          facts.name = record.id.name
          facts.key = key
        }
      }
    }
    return stored
  }
}
