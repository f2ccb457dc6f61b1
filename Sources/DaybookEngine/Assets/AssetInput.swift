/// Where a content comes from.
package enum AssetInput {
  case bytes(ByteView)
  /// A file that is open.
  case file(any DiskFile)
}
