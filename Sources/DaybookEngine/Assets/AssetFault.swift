/// What can be wrong with an asset.
package enum AssetFault: Error, Sendable {
  /// No file has the content.
  case missing(path: String)
  /// A file holds something else than it should: another size, or other bytes. `found` are its bytes, where that says something.
  case changed(path: String, byteCount: Int, found: Int?)
  case disk(DiskFailure)
}
