#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine

/// Taking in assets: the content of an asset that was set is read once, at save. Small ones go into the record, others into
/// a file of the database; they are there, durably, before the operation that refers to them is written.
extension WriteContext {
  /// The record with its edited assets as they are stored.
  ///
  /// - Throws: `limitExceeded` for an asset that is too large, `assetFileNotFound` and `assetFileModified` for its file,
  ///   `assetNotAvailable` for an asset without content, each with the key; the caller's record stays as it was.
  func storingAssets(of record: Record) throws(DatabaseError) -> Record {
    var stored = record
    try stored.replaceEditedAssets { (asset) throws(DatabaseError) in try storing(asset) }
    return stored
  }

  private func storing(_ asset: Asset) throws(DatabaseError) -> Asset {
    switch try database.ingest(asset, limit: limits.assetByteCount) {
    case .inline(let asset): return asset
    case .held(let hold):
      try secure(hold)
      return Asset(digest: hold.digest.bytes, byteCount: hold.byteCount, source: .stored(database.library))
    }
  }

  private func secure(_ hold: AssetHold) throws(DatabaseError) {
    do { try hold.store.secure(hold) } catch { throw DatabaseError(error) }
    holds.append(hold)
    securedAssets.insert(hold.digest)
  }

  /// What the commit refers to waits for its removal no more.
  func endWaits() throws(DatabaseError) {
    if securedAssets.isEmpty { return }
    do { try database.library.store.endWaits(of: securedAssets) } catch { throw DatabaseError(error) }
  }

  /// Secures the assets that the body refers to and that were not edited. A client may save a version whose asset files no
  /// record refers to any more, so that they are gone or about to be collected; or one that was read from another database,
  /// which has them.
  ///
  /// - Parameters:
  ///   - server: the version before it, whose assets are referred to already.
  ///   - source: where the record was read.
  /// - Throws: `assetNotAvailable` when one of them is not there any more, `limitExceeded` for one of another database
  ///   that is too large.
  func secureAssets(
    namedIn body: ByteView, replacing server: RecordBody?, from source: AssetLibrary?
  ) throws(DatabaseError) {
    var known = securedAssets
    if let server { server.withBytes { bytes in for name in AssetNames.names(in: bytes) { known.insert(name.digest) } } }
    for name in AssetNames.names(in: body) where known.insert(name.digest).inserted {
      if let hold = preparedHolds[name.digest] { try secure(hold) } else { try secure(try database.hold(name, from: source)) }
    }
  }
}

extension Database {
  /// An asset that was taken in: it lies in its record, or in a file that is held until the commit.
  enum IngestedAsset {
    case inline(Asset)
    case held(AssetHold)
  }

  /// Takes the content of an asset in. Needs no turn.
  /// - Throws: `limitExceeded` also for a file that has grown beyond the limit since the asset was made, or while it was read.
  func ingest(_ asset: Asset, limit: Int) throws(DatabaseError) -> IngestedAsset {
    do throws(DatabaseError) { return try ingestOne(asset, limit: limit) } catch {
      guard error.code == .assetFileModified, let size = error.facts.size, size > limit else { throw error }
      throw DatabaseError(
        .limitExceeded, "An asset is too large.", facts: .init(path: asset.givenPath, size: size, limit: limit), cause: error)
    }
  }

  private func ingestOne(_ asset: Asset, limit: Int) throws(DatabaseError) -> IngestedAsset {
    let byteCount = asset.byteCount
    if byteCount > limit {
      throw DatabaseError(
        .limitExceeded, "An asset is too large.", facts: .init(path: asset.givenPath, size: byteCount, limit: limit))
    }
    // What is stored stays where it is, whatever the limits are now.
    if case .stored(let source) = asset.storage.source {
      if source.store === library.store { return .held(try hold(stored: try asset.knownDigest(), byteCount)) }
      if source.store.isClosed {
        // Maybe it is the same file, reopened.
        return .held(try hold(foreign: try asset.knownDigest(), byteCount, source))
      }
    }
    if byteCount <= options.inlineAssetByteCount, options.inlineAssetByteCount > 0 {
      return .inline(try asset.withContent(ofAtMost: byteCount))
    }
    let hold = try takeIn(asset)
    // One that was decoded may say anything of itself.
    if let digest = asset.digest, digest != hold.digest.bytes {
      throw DatabaseError(
        .invalidArguments, "The content of an asset is not what its SHA-256 says.",
        facts: .init(path: asset.givenPath, expected: asset.sha256, found: hold.digest.name))
    }
    return .held(hold)
  }

  private func takeIn(_ asset: Asset) throws(DatabaseError) -> AssetHold {
    let store = library.store
    let byteCount = asset.byteCount
    switch asset.storage.source {
    case .held(let known) where known.store === store: return known
    case .held(let other):
      if other.store.isClosed { throw .sourceIsClosed(other.store) }
      let file: any DiskFile
      do { file = try other.open() } catch { throw DatabaseError(error) }
      defer { file.close() }
      return try ingest(file, byteCount)
    case .stored(let other): return try hold(foreign: try asset.knownDigest(), byteCount, other)
    case .memory(let data):
      let buffer = ByteBuffer(capacity: max(1, byteCount))
      buffer.append([UInt8](data))
      do { return try store.ingest(.bytes(buffer.view), byteCount: byteCount) } catch { throw DatabaseError(error) }
    case .file(let url, let state):
      try asset.validateUnmodified()
      let file = try AssetLibrary.open(url, ifStill: state)
      defer { file.close() }
      let hold = try ingest(file, byteCount)
      try asset.validateUnmodified()
      return hold
    case .elsewhere(let url?):
      let file = try AssetLibrary.open(url)
      defer { file.close() }
      return try ingest(file, byteCount)
    case .elsewhere(nil): throw DatabaseError(.assetNotAvailable)
    }
  }

  private func ingest(_ file: any DiskFile, _ byteCount: Int) throws(DatabaseError) -> AssetHold {
    do { return try library.store.ingest(.file(file), byteCount: byteCount) } catch { throw DatabaseError(error) }
  }

  private func hold(stored digest: AssetDigest, _ byteCount: Int) throws(DatabaseError) -> AssetHold {
    if let hold = try adopt(digest, byteCount, verifies: false) { return hold }
    let store = library.store
    do { try store.open(digest, byteCount: byteCount).close() } catch { throw DatabaseError(error) }
    throw DatabaseError(.assetNotAvailable, facts: .init(path: store.path(of: digest)))
  }

  private func adopt(_ digest: AssetDigest, _ byteCount: Int, verifies: Bool) throws(DatabaseError) -> AssetHold? {
    do { return try library.store.adopt(digest, byteCount: byteCount, verifies: verifies) } catch { throw DatabaseError(error) }
  }

  /// An asset file that a record's body refers to: of this database, or copied from the one that the record was read from.
  func hold(_ name: AssetNames.Name, from source: AssetLibrary?) throws(DatabaseError) -> AssetHold {
    let byteCount = Int(clamping: name.byteCount)
    guard let source, source.store !== library.store else {
      if let hold = try adopt(name.digest, byteCount, verifies: false) { return hold }
      throw DatabaseError(
        .assetNotAvailable, "The content of an asset is not in the database any more.",
        facts: .init(path: library.store.path(of: name.digest), size: byteCount))
    }
    return try hold(foreign: name.digest, byteCount, source)
  }

  /// An asset file of another database. One that is here already, and intact, need not be there; it may be the same database,
  /// reopened.
  private func hold(
    foreign digest: AssetDigest, _ byteCount: Int, _ source: AssetLibrary
  ) throws(DatabaseError) -> AssetHold {
    if let hold = try adopt(digest, byteCount, verifies: true) { return hold }
    if source.store.isClosed { throw .sourceIsClosed(source.store) }
    if byteCount > limits.assetByteCount {
      throw DatabaseError(
        .limitExceeded, "An asset is too large.", facts: .init(size: byteCount, limit: limits.assetByteCount))
    }
    do throws(AssetFault) {
      let file = try source.store.open(digest, byteCount: byteCount)
      defer { file.close() }
      return try library.store.ingest(.file(file), byteCount: byteCount, named: digest)
    } catch {
      if case .missing(let path) = error {
        throw DatabaseError(
          .assetNotAvailable, "The database that the record was read from does not have its asset any more.",
          facts: .init(path: path, size: byteCount), cause: error)
      }
      throw DatabaseError(error)
    }
  }

  /// Holds the assets of a record that was read from another database, before the turn. What cannot be copied throws within the
  /// turn, if it is still needed then.
  func holdForeignAssets(of record: Record, in holds: inout [AssetDigest: AssetHold]) {
    guard let source = record.body.services?.assets, source.store !== library.store, record.body.namesAssets else { return }
    for name in record.body.withBytes({ AssetNames.names(in: $0) }) where holds[name.digest] == nil {
      holds[name.digest] = try? hold(name, from: source)
    }
  }
}

extension DatabaseError {
  fileprivate static func sourceIsClosed(_ store: AssetStore) -> DatabaseError {
    DatabaseError(
      .assetNotAvailable, "The content of the asset is in a database that is closed.", facts: .init(path: store.directory))
  }
}
