#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine

extension Record.Value {
  /// See ``Asset/hasContentOfItsDigest``.
  var hasContentsOfItsDigests: Bool {
    switch self {
    case .asset(let asset): asset.hasContentOfItsDigest
    case .assets(let list): list.allSatisfy { $0.hasContentOfItsDigest }
    default: true
    }
  }
}

extension RecordBody {
  /// Whether each content that lies in the body is what its SHA-256 says.
  var hasContentsOfItsDigests: Bool {
    withBytes { view in
      var cursor = FieldCursor(view, layout)
      while let field = cursor.next() {
        guard let kind = field.mark.kind, kind.isAsset, !field.mark.isSealed else { continue }
        let zone = RecordBody.zoneKey(of: view)
        let value = ValueCoding.decode(kind, field.value, zoneKey: zone, isValid: false, services: nil)
        if let value, !value.hasContentsOfItsDigests { return false }
      }
      return true
    }
  }
}

/// Reading an asset's content, and naming it by its SHA-256.
///
/// A file is looked at before and after it is read, and one byte more is asked for than it should have: content that
/// changed since the asset was made, or while it was read, is noticed and refused. What is opened is compared with what was
/// looked at when the asset was made, too: the name may lead elsewhere for a moment between two looks.
extension Asset {
  /// Whether bytes are the content, which may be gone: then its SHA-256 tells.
  package func isContent(_ bytes: Data) -> Bool {
    guard byteCount == bytes.count else { return false }
    if case .memory(let data) = storage.source { return data == bytes }
    guard let digest else { return (try? content()) == bytes }
    // Safe: the view is read before the closure returns.
    return unsafe bytes.withUnsafeBytes { SHA256.digest(of: unsafe ByteView($0)) } == digest
  }

  /// Whether both have the same content, wherever it is; a file of another size is not read. What cannot be read is another one.
  package func hasContent(of other: Asset) -> Bool {
    if self == other { return true }
    guard byteCount == other.byteCount, let own = computedDigest() else { return false }
    return own == other.computedDigest()
  }

  private func computedDigest() -> [UInt8]? {
    if let digest { return digest }
    var hash = SHA256()
    do { try readContent { piece in [UInt8](piece).withView { hash.update($0) } } } catch { return nil }
    return hash.finish()
  }

  /// The asset with its content in memory, for a record that stores it, and its SHA-256 computed from it.
  ///
  /// - Throws: `limitExceeded` when it has more bytes, `assetFileNotFound`, `assetFileModified`; `assetNotAvailable` when
  ///   only its SHA-256 is known, `invalidArguments` when that is not the content's.
  package func withContent(ofAtMost limit: Int) throws(DatabaseError) -> Asset {
    if byteCount > limit {
      throw DatabaseError(
        .limitExceeded, "An asset is too large to be stored in its record.",
        facts: .init(path: givenPath, size: byteCount, limit: limit))
    }
    switch storage.source {
    case .memory(let data):
      // Safe: the view is read before the closure returns.
      let computed = unsafe data.withUnsafeBytes { SHA256.digest(of: unsafe ByteView($0)) }
      // One that was decoded may say anything of itself.
      if let digest, digest != computed {
        throw DatabaseError(.invalidArguments, "The content of an asset is not what its SHA-256 says.")
      }
      return Asset(digest: computed, byteCount: data.count, content: data)
    case .file(let url, let state):
      try validateUnmodified()
      let content = try read(url, state)
      try validateUnmodified()
      if let digest, digest != content.digest {
        throw DatabaseError(
          .invalidArguments, "The content of an asset is not what its SHA-256 says.", facts: .init(path: url.path))
      }
      return content
    case .stored, .held, .elsewhere(.some):
      return Asset(digest: try knownDigest().bytes, byteCount: byteCount, content: try content())
    case .elsewhere(nil):
      throw DatabaseError(.assetNotAvailable)
    }
  }

  /// The path that a caller gave; nothing is staged for it.
  var givenPath: String? {
    switch storage.source {
    case .file(let url, _): url.path
    case .elsewhere(let url): url?.path
    case .memory, .stored, .held: nil
    }
  }

  /// The SHA-256 of an asset that must have one.
  func knownDigest() throws(DatabaseError) -> AssetDigest {
    guard let digest, digest.count == AssetDigest.byteCount else { throw DatabaseError(.assetNotAvailable) }
    return AssetDigest(digest)
  }

  /// All bytes of the content, read now and compared with the SHA-256 if there is one.
  ///
  /// - Throws: `assetFileNotFound` when no file has it any more, `assetFileModified` when the file has other bytes,
  ///   `assetNotAvailable` when only the SHA-256 is known, `ioFailed`.
  /// - Complexity: O(size), in memory too; ``readContent(_:)`` takes little.
  public func content() throws(DatabaseError) -> Data {
    if case .memory(let data) = storage.source {
      try checkContent()
      return data
    }
    var all = Data()
    do { try readContent { all.append($0) } } catch {
      throw DatabaseError(untyped: error)
    }
    return all
  }

  /// Calls `body` with all bytes of the content, a piece of at most a megabyte after the other.
  ///
  /// Whether they are the bytes that were saved is known only at the end: what `body` saw counts when this returns.
  /// - Throws: as ``content()``; what `body` throws.
  public func readContent(_ body: (Data) throws -> Void) throws {
    switch storage.source {
    case .memory(let data):
      try checkContent()
      try body(data)
    case .stored(let library): try AssetLibrary.read(library.store, try knownDigest(), byteCount, body)
    case .held(let hold): try AssetLibrary.read(hold, body)
    case .file(let url, let state):
      try validateUnmodified()
      let expected = digest.map { AssetDigest($0) }
      try AssetLibrary.read(AssetLibrary.open(url, ifStill: state), url, byteCount, expected: expected, body)
      try validateUnmodified()
    case .elsewhere(let url):
      guard let url else { throw DatabaseError(.assetNotAvailable) }
      let digest = try knownDigest()
      try AssetLibrary.read(AssetLibrary.open(url), url, byteCount, expected: digest, body)
    }
  }

  /// Whether content that lies in memory is what the SHA-256 says; true for others. A record that was not written by this
  /// library may claim any.
  var hasContentOfItsDigest: Bool {
    guard case .memory(let data) = storage.source, let digest, !isMutant("trust-inline-digest") else { return true }
    // Safe: the view is read before the closure returns.
    let computed = unsafe data.withUnsafeBytes { SHA256.digest(of: unsafe ByteView($0)) }
    return computed == digest
  }

  private func checkContent() throws(DatabaseError) {
    if hasContentOfItsDigest { return }
    throw DatabaseError(
      .assetFileModified, "The content of an asset is not what its SHA-256 says.", facts: .init(name: sha256))
  }

  private func read(_ url: URL, _ state: SourceState) throws(DatabaseError) -> Asset {
    let file = try AssetLibrary.open(url, ifStill: state)
    defer { file.close() }
    let buffer = ByteBuffer(capacity: byteCount + 1)
    do throws(DiskFailure) {
      // Safe: the buffer was made for this many bytes.
      buffer.count = try unsafe file.read(into: buffer.base, count: byteCount + 1, at: 0)
    } catch {
      throw DatabaseError(
        .assetFileNotFound, "The file of the asset cannot be read.", facts: .init(path: url.path), cause: error)
    }
    guard buffer.count == byteCount else {
      throw DatabaseError(.assetFileModified, facts: .init(path: url.path, size: buffer.count))
    }
    // Safe: Data copies the bytes of the buffer.
    let data = unsafe Data(buffer.view.buffer)
    return Asset(digest: SHA256.digest(of: buffer.view), byteCount: byteCount, content: data)
  }
}

extension Record.Value {
  /// Whether storing one in the place of the other would change nothing: 7 and 7.0 are equal, but not the same; two assets of the same
  /// bytes are.
  package func isSame(as other: Record.Value) -> Bool {
    switch (self, other) {
    case (.asset(let own), .asset(let new)): own.hasContent(of: new)
    case (.assets(let own), .assets(let new)): own.count == new.count && zip(own, new).allSatisfy { $0.hasContent(of: $1) }
    default: kind == other.kind && self == other
    }
  }
}
