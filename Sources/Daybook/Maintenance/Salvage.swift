#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine

/// Copying what still holds of a damaged file into a new one.
extension Database {
  /// What a salvage brought over, and what it could not.
  public struct SalvageReport: Sendable, Equatable {
    /// Commits that were copied whole.
    public var commitCount = 0
    /// Records and zones in the new file; the default zone counts when it holds records.
    public var recordCount = 0
    /// Zones in the new file, the default zone among them.
    public var zoneCount = 0
    /// Commits of the damaged file of which something is missing, by their sequence there.
    public var lostSequences: [ClosedRange<Int>] = []
    /// Those of them of which a part was copied.
    public var partialSequences: [Int] = []
    /// Zones that were made again, without their capabilities, because the commit that made them is lost.
    public var remadeZones: [Zone.ID] = []
    /// Operations that could not be applied: deletions of what is not there, bodies that cannot be read.
    public var skippedOperationCount = 0
    /// Those of them that are bodies of which nothing intact says what their values are called: every copy of their type's
    /// declaration is damaged. They are counted in `skippedOperationCount`, too, and stay in the damaged file.
    public var unreadableRecords: [UnreadableRecord] = []
    /// Features of a later version that the damaged file requires, as bits; what they are about may be missing. Zero if none.
    public var unknownFeatures: UInt64 = 0
    /// Bytes of the damaged file that belong to nothing that holds.
    public var damagedByteCount = 0
    /// Bytes that the disk did not give, in blocks of 4096.
    public var unreadableByteCount = 0
    /// The first page was damaged: a checkpoint's copy of it served, or what each frame says.
    public var usedHeaderCopy = false
    /// An unfinished write at the end was left out, as opening would.
    public var hasTornTail = false
    /// Bytes that are missing at the end of a file that was cut short; which commits they held, nobody can tell.
    public var missingByteCount = 0
    /// Contents of assets that came over.
    public var assetCount = 0
    /// The SHA-256 of contents that records name and that are not there, are damaged, or cannot be read.
    public var missingAssets: [String] = []
    /// Whether nothing acknowledged is missing.
    public var isComplete: Bool {
      lostSequences.isEmpty && skippedOperationCount == 0 && missingAssets.isEmpty && missingByteCount == 0
        && unknownFeatures == 0
    }
  }

  /// A version of a record in a damaged file that is whole, while what it is made of is not to be found.
  public struct UnreadableRecord: Sendable, Equatable {
    /// The record's name.
    public let name: String
    /// When this version was saved.
    public let modificationDate: Date
    /// When the record was made.
    public let creationDate: Date
    /// Where it is in the damaged file, in bytes from its start.
    public let offset: Int
    /// How long it is there, in bytes.
    public let byteCount: Int
  }

  /// Copies everything that still holds of a damaged database into a new file; the damaged one stays as it is.
  ///
  /// The new file has an identity of its own, so tokens of the old one expire. Records keep their change tags, dates and
  /// history; commits are numbered anew where some are lost. A record whose last change is lost comes over as it was
  /// before, and one whose deletion is lost is there: the report names the commits to think of. Of a compacted file the deletions
  /// from before the compaction are lost: no feed of the new file tells of them. Contents of assets are
  /// copied and verified; a record whose asset is gone comes over, and reading that asset says so. What the disk cannot read
  /// counts as damaged; the file is never mapped. Rights, owner and extended attributes of the file stay, as far as the system
  /// lets them be given.
  /// - Parameters:
  ///   - target: a path where nothing is. It names a database only when all is done.
  ///   - progress: called with the bytes read and all bytes; false stops with `operationCancelled`.
  /// - Throws: `notADatabase` when neither the first page nor anything in the log says how to read the file; `locked` while it
  ///   is open for writing; `ioFailed`, `diskFull`.
  @discardableResult
  public static func salvage(
    from source: String, to target: String, progress: ((_ done: Int, _ total: Int) -> Bool)? = nil
  ) throws(DatabaseError) -> SalvageReport {
    try salvage(from: source, to: target, options: Options(), disk: SystemDisk(), progress: progress)
  }

  /// Copies what is left of a damaged database at a file URL into a new file at another one.
  @discardableResult
  public static func salvage(
    from source: URL, to target: URL, progress: ((_ done: Int, _ total: Int) -> Bool)? = nil
  ) throws(DatabaseError) -> SalvageReport {
    try salvage(from: path(of: source), to: path(of: target), progress: progress)
  }

  package static func salvage(
    from given: String, to target: String, options: Options, disk givenDisk: any Disk,
    progress: ((_ done: Int, _ total: Int) -> Bool)? = nil
  ) throws(DatabaseError) -> SalvageReport {
    let source: String
    let disk: any Disk
    do throws(DiskFailure) {
      source = try givenDisk.resolve(given)
      disk = try givenDisk.keepingFolder(holding: source)
    } catch { throw DatabaseError(opening: given, .disk(error), on: givenDisk) }
    let reader: SalvageReader
    do {
      reader = try SalvageReader(source, disk: disk, kinds: OperationKind.allCases.map(\.rawValue))
    } catch { throw DatabaseError(opening: source, error, on: disk) }
    var report = SalvageReport()
    let attributes: FileAttributes
    do { attributes = try reader.fileAttributes() } catch { throw DatabaseError(error) }
    try makeCopy(
      at: target, of: nil, from: (source, disk), like: attributes,
      present: { () throws(DiskFailure) in try reader.fileAttributes() }, options: options, disk: givenDisk
    ) { database in
      // First what the bodies mean: that may be after them, where the place in front of them is damaged.
      let declarations = SalvagedDeclarations(reader, mask: database.options.declarationMask)
      var copier = LogCopier(database.store, options: database.options, .salvage, gathered: declarations.dictionary)
      do throws(StoreError) {
        try reader.forEachCommit { done in
          progress?(Int(clamping: done), Int(clamping: reader.byteCount)) ?? true
        } _: { (commit) throws(StoreError) in
          try copier.copy(commit)
        }
      } catch { throw DatabaseError(error, path: source) }
      report = copier.report
      try database.buildIndexes()
      try report.add(reader.losses, database)
      try report.copyAssets(from: AssetStore(path: source, disk: disk, random: options.random), to: database)
    }
    return report
  }
}

extension Database.SalvageReport {
  /// Copies, not links: what the damaged file's disk does next must not matter.
  fileprivate mutating func copyAssets(from source: AssetStore, to database: Database) throws(DatabaseError) {
    let named = try database.reading { (view) throws(DatabaseError) in try view.assets() }
    for (digest, entry) in named.sorted(by: { $0.key < $1.key }) {
      do throws(AssetFault) {
        try database.library.store.take(digest, byteCount: Int(clamping: entry.byteCount), from: source, links: false)
        assetCount += 1
      } catch {
        switch error {
        case .missing, .changed: missingAssets.append(digest.name)
        case .disk(let failure) where failure.operation == .read: missingAssets.append(digest.name)
        // The disk fails to open it, or a link has the place of a folder there. In the new file's folder either ends the salvage.
        case .disk(let failure)
        where (failure.isOfOnePlace && !isMutant("end-salvage-at-unreadable-asset") || failure.kind == .notRegular)
          && failure.path.startsWithBytes(of: source.directory):
          missingAssets.append(digest.name)
        case .disk(let failure): throw DatabaseError(failure)
        }
      }
    }
  }

  fileprivate mutating func add(_ losses: SalvageReader.Losses, _ database: Database) throws(DatabaseError) {
    lostSequences = losses.sequences.map { Int(clamping: $0.lowerBound)...Int(clamping: $0.upperBound) }
    partialSequences = losses.partialSequences.map { Int(clamping: $0) }
    damagedByteCount = Int(clamping: losses.damagedByteCount)
    unreadableByteCount = losses.unreadableByteCount
    usedHeaderCopy = losses.usedHeaderCopy
    hasTornTail = losses.hasTornTail
    missingByteCount = Int(clamping: losses.missingByteCount)
    let zones = try database.zones()
    zoneCount = zones.count
    for zone in zones { recordCount += try database.recordCount(in: zone.id) }
  }
}
