/// What the layer above brings to a compaction: it knows what its keys and operations mean.
package protocol Rewriter {
  /// For the new file: an applier keeps state of its own.
  func makeApplier() -> any Applier
  /// Writes everything that a version holds, in key order. `writer.pause()` between operations.
  func writeImage(of pin: Store.Pin, _ source: Store, to writer: ImageWriter) throws(StoreError)
  /// Writes a newer commit again: as it is, to the batch, or to `batch.target` in a transaction of its own, with links to
  /// older versions as the new file has them. Returns its sequence there.
  func copy(_ commit: CommitReader, to batch: CommitBatch) throws(StoreError) -> UInt64
}
