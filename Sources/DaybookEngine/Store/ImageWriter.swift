/// Writes an image: the first commit of a compacted file, which stands for all commits up to its sequence.
///
/// An image may be larger than memory. Its operations go out in parts, as those of any large transaction do, and between
/// them the pages that they have filled, in frames of their own: keys come in order, so a page that is full stays as it is.
///
/// Always true: nobody sees the store before the image is whole; a crash leaves a file without any commit.
@safe package final class ImageWriter {
  package let store: Store
  package let transaction: StoreTransaction
  private let pace: Pace
  /// Bytes of pages in memory, past which they are written.
  private let pageByteLimit: Int

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

  /// To be called between operations, where the applier waits for nothing: writes pages when there are many, and lets others
  /// have the disk.
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

  /// To be called where a group of operations ends: what the applier has kept for that goes into the trees, with rests.
  package func flush() throws(StoreError) {
    while try transaction.flushPart() { try pause() }
  }

  private func letOthersHaveTheDisk() throws(StoreError) {
    try pace.pause(writtenThrough: store.log.tail.offset) { () throws(StoreError) in
      // Without acknowledging anything.
      try store.log.sync(store.backgroundFile)
    }
  }

  /// Commits the image; after an error nothing of it is left.
  package func finish() throws(StoreError) {
    _ = try store.commit(transaction)
  }

  /// Gives the image up, before `finish`.
  package func abort() { store.abort(transaction) }
}
