/// Writes an image: the first commit of a compacted file, which stands for all commits up to its sequence.
///
/// An image may be larger than memory. Its operations are written in parts, as in any large transaction. The pages that they
/// have filled are written in between, in frames of their own: keys come in order, so a full page does not change again.
///
/// Always true: nobody sees the store before the image is whole; a crash leaves a file without any commit.
@safe package final class ImageWriter {
  package let store: Store
  package let transaction: StoreTransaction
  private let pace: Pace
  /// Bytes of pages in memory, past which they are written.
  private let pageByteLimit: Int
  /// Up to where the disk was asked to write, and up to where it has.
  private var sentOffset: UInt64 = 0
  private var syncedOffset: UInt64 = 0
  private static let unsyncedByteCount: UInt64 = 16 << 20

  package init(_ store: Store, sequence: UInt64, pace: Pace) throws(StoreError) {
    self.store = store
    self.pace = pace
    pageByteLimit = min(64 << 20, store.options.checkpointMemoryByteCount / 4)
    transaction = try store.beginTransaction()
    transaction.becomeImage(of: sequence)
  }

  /// Appends an operation.
  package func append(_ payload: ByteView, kind: UInt8) throws(StoreError) {
    let start = transaction.beginOperation()
    transaction.payload.append(payload)
    try transaction.endOperation(start, kind: kind)
  }

  /// Called between operations, when the applier is not in the middle of anything: writes pages if there are many, and leaves
  /// the disk to others for a moment.
  package func pause() throws(StoreError) {
    if transaction.editor.createdByteCount > pageByteLimit {
      try transaction.spill { (pages, hold) throws(StoreError) in
        let isMore = try store.appendPages(&pages, hold)
        try letOthersHaveTheDisk()
        return isMore
      }
    }
    try letOthersHaveTheDisk()
  }

  /// Called where a group of operations ends: puts what the applier has kept back into the trees, with pauses.
  package func flush() throws(StoreError) {
    while try transaction.flushPart() { try pause() }
  }

  private func letOthersHaveTheDisk() throws(StoreError) {
    try pace.pause(writtenUpTo: store.log.tail.offset) { () throws(StoreError) in
      let end = store.log.tail.offset
      defer { sentOffset = end }
      // No commit waits for the disk, so it writes while the next operations are copied (row: use-compact).
      if !pace.isBesideCommits, end - syncedOffset < ImageWriter.unsyncedByteCount {
        return store.backgroundFile.beginWriteBack(Int(sentOffset)..<Int(end))
      }
      // This acknowledges nothing.
      try store.log.sync(store.backgroundFile)
      syncedOffset = end
    }
  }

  /// Commits the image; after an error, nothing of it is left.
  package func finish() throws(StoreError) {
    _ = try store.commit(transaction)
  }

  /// Gives the image up, before `finish`.
  package func abort() { store.abandon(transaction) }
}
