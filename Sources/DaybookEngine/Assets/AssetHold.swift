/// A content that was taken in and is kept under a name of our own, until a commit names it or the hold goes.
///
/// Made by `AssetStore.ingest` and `AssetStore.adopt`. Always true: the bytes are reachable, and synced, as long as this lives.
package final class AssetHold: Sendable {
  package let store: AssetStore
  package let digest: AssetDigest
  package let byteCount: Int
  /// Our own name for the content.
  let temporary: AssetTemporary
  /// How often the store had been suspended when the content's name was made durable for this hold.
  let suspensionCount: Int

  init(store: AssetStore, digest: AssetDigest, byteCount: Int, temporary: AssetTemporary, suspensionCount: Int) {
    self.store = store
    self.digest = digest
    self.byteCount = byteCount
    self.temporary = temporary
    self.suspensionCount = suspensionCount
  }

  deinit { store.release(temporary) }

  /// Opens the held content, for another store that takes it in.
  package func open() throws(DiskFailure) -> any DiskFile {
    try store.checkProcess()
    return try temporary.folder.open(temporary.name, .readContent)
  }
}
