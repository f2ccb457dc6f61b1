import DaybookEngine

extension Database {
  /// What open found at the end of the log, and what it did about it.
  public struct Recovery: Sendable, Hashable, Codable {
    /// Where the trees came from.
    public enum Basis: String, Sendable, Hashable, Codable { case newestCheckpoint, olderCheckpoint, log }
    /// The file had been closed: there was nothing to recover.
    public var wasClosed: Bool
    /// The newest checkpoint, or what was used instead.
    public var basis: Basis
    /// Commits that were applied again.
    public var replayedCommitCount: Int
    /// Bytes of log that these and the frames between them take.
    public var replayedByteCount: Int
    /// Bytes of an unacknowledged write that were thrown away.
    public var discardedByteCount: Int
    /// Where whole frames among them were saved.
    public var discardedCopyPath: String?
    /// Whole frames were thrown away without a copy, because there was no room for one or it could not be made.
    public var isDiscardedCopyMissing: Bool
    /// Frames that were written and synced again, because nothing proved that the disk has them.
    public var rewrittenFrameCount: Int
    /// Sequences of acknowledged commits that are damaged; the file can be read up to the first of them.
    public var lostSequences: ClosedRange<UInt64>?
    /// Bytes that are missing at the end of a file that was cut short, as by a copy that broke off; what is whole can be read.
    public var missingByteCount = 0
    /// The file has lost something that was acknowledged, or at least durable.
    package var tellsOfDamage: Bool { lostSequences != nil || missingByteCount > 0 }
  }

  /// Numbers about an open database.
  public struct Statistics: Sendable, Hashable, Codable {
    /// Bytes of the file.
    public var fileByteCount: Int
    /// Names that lead to the file. One with several (hard links) is not compacted: the new file could take only one of them.
    public var nameCount: Int
    /// The last visible commit.
    public var lastSequence: UInt64
    /// The log's end, without zeros prepared after it.
    public var logByteCount: Int
    /// Pages of all trees.
    public var pageCount: Int
    /// Bytes of the file that are needed: its header, the pages of the trees, bodies and tombstones of records, metadata.
    /// The rest is history, or is dead, and a compaction leaves it out. Never more than the file has, though pages that only
    /// memory has so far will take room, too.
    public var liveByteCount: Int
    /// Records in all zones.
    public var recordCount: Int
    /// Zones, the default zone included.
    public var zoneCount: Int
    /// Asset files, each counted once.
    public var assetCount: Int
    /// Their bytes.
    public var assetByteCount: Int
    /// What keeps the file from being compacted, and so from becoming smaller: something that is not ours has a name which a
    /// compaction needs, or the last one that began by itself failed. As an error describes itself; nil when nothing is known.
    public var compactionObstacle: String?
    /// Why the last checkpoint failed, as an error describes itself; nil when it did not, or when there was none. Commits go on
    /// without checkpoints and are as durable; but the log and the memory for changed pages grow, and an open after a crash
    /// takes longer. The next commits try again.
    public var checkpointObstacle: String?
    /// What keeps asset files that no record names from being removed: the folder beside the file is not known for this
    /// database's (``takeOverAssets()``), or the last collection that began by itself failed. As an error describes itself; nil
    /// when nothing is known.
    public var collectionObstacle: String?
    /// What open found.
    public var lastRecovery: Recovery
  }

  /// What open found at the end of the log.
  public var lastRecovery: Recovery {
    let report = store.recovery
    return Recovery(
      wasClosed: report.wasClosed,
      basis: Recovery.Basis(rawValue: report.basis.rawValue) ?? .log,
      replayedCommitCount: Int(clamping: report.replayedCommitCount),
      replayedByteCount: Int(clamping: report.replayedByteCount),
      discardedByteCount: Int(clamping: report.discardedByteCount), discardedCopyPath: report.discardedCopyPath,
      isDiscardedCopyMissing: report.isDiscardedCopyMissing, rewrittenFrameCount: report.rewrittenFrameCount,
      lostSequences: report.lostSequences, missingByteCount: Int(clamping: report.missingByteCount))
  }

  /// Numbers about the database; costs one visit a zone, and one each content of an asset.
  public func statistics() throws(DatabaseError) -> Statistics {
    try reading { (view) throws(DatabaseError) in
      let fileByteCount, nameCount: Int
      do throws(StoreError) { (fileByteCount, nameCount) = (try view.store.fileByteCount(), try view.store.nameCount()) } catch
      {
        throw DatabaseError(error, path: path)
      }
      guard case .pin(let pin) = view.source else { preconditionFailure("reads outside a transaction have a pin") }
      let zones = try view.zones()
      let assets = try view.assets()
      var recordCount = 0
      for zone in zones { recordCount += try view.recordCount(in: zone.id, ofType: nil) }
      return Statistics(
        fileByteCount: fileByteCount, nameCount: nameCount, lastSequence: pin.sequence, logByteCount: Int(clamping: pin.end),
        pageCount: Int(clamping: pin.pageCount), liveByteCount: min(pin.liveByteCount, fileByteCount), recordCount: recordCount,
        zoneCount: zones.count, assetCount: assets.count, assetByteCount: assets.totalByteCount,
        compactionObstacle: compactionObstacle(view.store)?.description,
        checkpointObstacle: view.store.options.failures[.checkpoint].map { ownError($0).description },
        collectionObstacle: collectionObstacle(view.store)?.description,
        lastRecovery: lastRecovery)
    }
  }

  private func compactionObstacle(_ store: Store) -> DatabaseError? {
    if let failure = store.compactionObstacle() { return DatabaseError(failure) }
    guard let failure = store.options.failures[.compaction] else { return nil }
    // What was in the way of the names has gone since.
    if case .disk(let failure)? = failure as? StoreError, failure.path.startsWithBytes(of: Store.unfinishedPath(of: path)) {
      return nil
    }
    return ownError(failure)
  }

  private func collectionObstacle(_ store: Store) -> DatabaseError? {
    // Another process may have compacted the file since the last look at it.
    if let (reason, path) = library.store.collectionObstacle(), reason != .nameLeadsElsewhere || !options.mayLag {
      return DatabaseError(notCollected: reason, path)
    }
    guard let failure = store.options.failures[.collection].map(ownError) else { return nil }
    // The folder has been taken over since, or has gone.
    return failure.code == .badDatabase ? nil : failure
  }

  /// A failure in the background, as the call that waits for such work would throw it.
  private func ownError(_ error: any Error) -> DatabaseError {
    (error as? StoreError).map { DatabaseError($0, path: path) } ?? DatabaseError(untyped: error)
  }
}
