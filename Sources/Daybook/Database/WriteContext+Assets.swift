#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine

/// Taking in assets: the content of an asset that was set is read once, at save. Small ones go into the record, others into
/// a file of the database; that they are there, durably, is seen to before the operation that names them is written.
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

  /// Sees to contents that the body names without having been edited: a client may save a version whose assets nobody else
  /// names any more, and which are gone, or about to go.
  ///
  /// - Parameter server: the version before it, whose assets are named already.
  /// - Throws: `assetNotAvailable` when one of them is not there any more.
  func secureAssets(namedIn body: ByteView, replacing server: RecordBody?) throws(DatabaseError) {
    var known = securedAssets
    if let server { server.withBytes { bytes in for name in AssetNames.names(in: bytes) { known.insert(name.digest) } } }
    for name in AssetNames.names(in: body) where known.insert(name.digest).inserted {
      let hold: AssetHold?
      do { hold = try database.library.store.adopt(name.digest, byteCount: Int(clamping: name.byteCount)) } catch {
        throw DatabaseError(error)
      }
      guard let hold else {
        throw DatabaseError(
          .assetNotAvailable, "The content of an asset is not in the database any more.",
          facts: .init(path: database.library.store.path(of: name.digest), size: Int(clamping: name.byteCount)))
      }
      try secure(hold)
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
  func ingest(_ asset: Asset, limit: Int) throws(DatabaseError) -> IngestedAsset {
    let byteCount = asset.byteCount
    if byteCount > limit {
      throw DatabaseError(
        .limitExceeded, "An asset is too large.", facts: .init(path: asset.givenPath, size: byteCount, limit: limit))
    }
    // What is stored stays where it is, whatever the limits are now.
    if case .stored(let other) = asset.storage.source, other.store === library.store {
      return .held(try hold(stored: try asset.knownDigest(), byteCount))
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
      let file: any DiskFile
      do { file = try other.open() } catch { throw DatabaseError(error) }
      defer { file.close() }
      return try ingest(file, byteCount)
    case .stored(let other):
      let file: any DiskFile
      do { file = try other.store.open(try asset.knownDigest(), byteCount: byteCount) } catch let fault as AssetFault {
        throw DatabaseError(fault)
      } catch { throw DatabaseError(.assetNotAvailable, cause: error) }
      defer { file.close() }
      return try ingest(file, byteCount)
    case .memory(let data):
      let buffer = ByteBuffer(capacity: max(1, byteCount))
      buffer.append([UInt8](data))
      do { return try store.ingest(.bytes(buffer.view), byteCount: byteCount) } catch { throw DatabaseError(error) }
    case .file(let url, _):
      try asset.validateUnmodified()
      let file = try AssetLibrary.open(url)
      defer { file.close() }
      let hold = try ingest(file, byteCount, path: url.path)
      try asset.validateUnmodified()
      return hold
    case .elsewhere(let url?):
      let file = try AssetLibrary.open(url)
      defer { file.close() }
      return try ingest(file, byteCount, path: url.path)
    case .elsewhere(nil): throw DatabaseError(.assetNotAvailable)
    }
  }

  private func ingest(_ file: any DiskFile, _ byteCount: Int, path: String? = nil) throws(DatabaseError) -> AssetHold {
    do {
      // A disk that is not the system's knows no paths of the system.
      let path = library.store.disk is SystemDisk ? path : nil
      return try library.store.ingest(.file(file, path: path), byteCount: byteCount)
    } catch { throw DatabaseError(error) }
  }

  private func hold(stored digest: AssetDigest, _ byteCount: Int) throws(DatabaseError) -> AssetHold {
    let store = library.store
    do throws(DiskFailure) {
      if let hold = try store.adopt(digest, byteCount: byteCount) { return hold }
    } catch { throw DatabaseError(error) }
    do { _ = try store.open(digest, byteCount: byteCount) } catch { throw DatabaseError(error) }
    throw DatabaseError(.assetNotAvailable, facts: .init(path: store.path(of: digest)))
  }
}
