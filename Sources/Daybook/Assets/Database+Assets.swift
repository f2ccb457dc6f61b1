#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine

/// Assets at the public door: taking contents in ahead of a transaction, and files to read them from.
extension Database {
  /// Takes the content of an asset in without keeping writers waiting, and returns the asset as it will be saved.
  ///
  /// A transaction reads contents that were not prepared while it holds up all other writers; with a file of a gigabyte
  /// that is seconds. Prepare large ones before, set the result in the record, then save. The content stays in the database
  /// as long as the returned value or a record names it, whatever other processes collect; of values until the database is
  /// closed. ``modify(saving:deleting:policy:atomically:origin:)`` prepares by itself.
  /// - Throws: `limitExceeded`, `assetFileNotFound`, `assetFileModified`, `assetNotAvailable`, `readOnly`, `diskFull`, `ioFailed`.
  /// - Complexity: O(size); the content is copied, synced and hashed. A small asset is read into memory instead.
  public func prepare(_ asset: Asset) throws(DatabaseError) -> Asset {
    try engine(stores.checkWritable())
    switch try ingest(asset, limit: limits.assetByteCount) {
    case .inline(let asset): return asset
    case .held(let hold):
      scheduleAssetCollection()
      return Asset(digest: hold.digest.bytes, byteCount: hold.byteCount, source: .held(hold))
    }
  }

  /// The record with all assets prepared that were set since it was read, and all that it has in another database if it was
  /// read there: these become changes of the record. See ``prepare(_:)-(Asset)``.
  public func prepare(_ record: Record) throws(DatabaseError) -> Record {
    var prepared = record
    if let source = record.body.services?.assets, source.store !== library.store, record.body.namesAssets {
      let changed = record.changedKeys
      for key in record.keys where !changed.contains(key) {
        switch record[key] as Record.Value? {
        case .asset?, .assets?: prepared[key] = record[key] as Record.Value?
        default: break
        }
      }
    }
    return try prepareEdited(prepared)
  }

  /// The record with the assets prepared that were set since it was read, and no others.
  func prepareEdited(_ record: Record) throws(DatabaseError) -> Record {
    guard record.hasEditedAssets else { return record }
    var prepared = record
    try prepared.replaceEditedAssets { (asset) throws(DatabaseError) in try prepare(asset) }
    return prepared
  }

  /// A file with the content of an asset of a record that was read.
  func fileURL(
    ofAsset key: String, at index: Int, in record: Record?, _ id: Record.ID
  ) throws(DatabaseError) -> URL {
    let facts = DatabaseError.Facts(zone: id.zone, name: id.name, key: key)
    guard let record else { throw DatabaseError(.unknownItem, facts: facts) }
    let assets: [Asset] =
      switch record[key] as Record.Value? {
      case .asset(let asset): [asset]
      case .assets(let list): list
      default: []
      }
    guard assets.indices.contains(index) else {
      throw DatabaseError(.unknownItem, "The record has no asset for the key.", facts: facts)
    }
    do throws(DatabaseError) {
      let digest = try assets[index].knownDigest()
      if let data = assets[index].data { return try library.fileURL(of: data, digest) }
      return try library.fileURL(of: digest, byteCount: assets[index].byteCount)
    } catch {
      throw error.adding(id, key: key)
    }
  }

  /// Names in the directory that are no contents: unfinished ingests, copies of earlier opens, and what is not ours.
  package func assetLeftovers() throws(DatabaseError) -> [String] {
    do throws(DiskFailure) {
      let inventory = try library.store.inventory()
      return inventory.leftovers + inventory.strangers
    } catch { throw DatabaseError(error) }
  }

  /// One content among the files of a database.
  public struct StoredAsset: Sendable, Hashable, Codable {
    /// What is the matter with it.
    public enum State: String, Sendable, Hashable, Codable {
      /// Records name it, and it is there. Its bytes have not been looked at.
      case stored
      /// Records name it, and it is gone.
      case missing
      /// Records name it, and its file has another size.
      case damaged
      /// Records name it, and the disk fails to say whether it is there, or how large.
      case unreadable
      /// No record names it; it goes after the grace time.
      case unreferenced
    }
    /// The SHA-256, which is also the name of the file.
    public var sha256: String
    /// Its size.
    public var byteCount: Int
    /// How often live records name it.
    public var referenceCount: Int
    /// What is the matter with it.
    public var state: State
    /// Its file. Reading it is allowed, nothing else.
    public var path: String
  }

  /// All contents that lie in files of their own, by SHA-256: those that records name, and those that nobody names any more. One that
  /// the disk fails to read is listed as that, with the others.
  /// - Complexity: visits each file's name and size.
  public func storedAssets() throws(DatabaseError) -> [StoredAsset] {
    let named = try reading { (view) throws(DatabaseError) in try view.assets() }
    let inventory: AssetStore.Inventory
    do { inventory = try library.store.inventory(passesUnreadable: true) } catch { throw DatabaseError(error) }
    var digests = Set(inventory.digests)
    digests.formUnion(named.keys)
    return try digests.sorted().map { (digest) throws(DatabaseError) in
      var found: Int?
      var isUnreadable = false
      do throws(DiskFailure) { found = try library.store.knownByteCount(of: digest, in: inventory.root) } catch {
        guard error.isOfOnePlace, !isMutant("end-at-unreadable-asset") else { throw DatabaseError(error) }
        isUnreadable = true
      }
      let entry = named[digest]
      let state: StoredAsset.State =
        switch (entry, found) {
        case (nil, _): .unreferenced
        case _ where isUnreadable: .unreadable
        case (_, nil): .missing
        case (let entry?, let found?): found == Int(clamping: entry.byteCount) ? .stored : .damaged
        }
      return StoredAsset(
        sha256: digest.name, byteCount: entry.map { Int(clamping: $0.byteCount) } ?? found ?? 0,
        referenceCount: Int(clamping: entry?.count ?? 0), state: state, path: library.store.path(of: digest))
    }
  }
}
