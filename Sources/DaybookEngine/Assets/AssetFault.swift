/// What can be wrong with an asset.
package enum AssetFault: Error, Sendable {
  /// No file has the content.
  case missing(path: String)
  /// A file does not hold what it should: its size or its bytes differ. `found` is its length, where that tells something.
  case changed(path: String, byteCount: Int, found: Int?)
  case disk(DiskFailure)
}
