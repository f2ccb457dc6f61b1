/// What the layer above gives a compaction: a way to write its content again. It knows what its keys and operations mean.
package protocol Rewriter {
  /// Makes the applier of the new file; each applier keeps state of its own.
  func makeApplier() -> any Applier
  /// Writes everything that a version holds, in key order, with `writer.pause()` between operations.
  func writeImage(of pin: Store.Pin, _ source: Store, to writer: ImageWriter) throws(StoreError)
  /// Writes a newer commit again: unchanged to the batch, or in a transaction of its own to `batch.target`, with links to older
  /// versions adapted to the new file. Returns its sequence there.
  func copy(_ commit: CommitReader, to batch: CommitBatch) throws(StoreError) -> UInt64
  /// Another file is about to take the database's name: what is bound to the file must know it before. May throw, and then
  /// nothing is replaced.
  func willReplace(by file: FileIdentity) throws(DiskFailure)
  /// That is done, or was given up.
  func didReplace()
  /// Whether the copy is still wanted: asked while it sleeps.
  var isWanted: Bool { get }
}

extension Rewriter {
  package func willReplace(by file: FileIdentity) throws(DiskFailure) {}
  package func didReplace() {}
  package var isWanted: Bool { true }
}
