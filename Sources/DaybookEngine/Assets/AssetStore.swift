/// Contents of assets in files beside the log, each once, under the SHA-256 of its bytes.
///
///     movies.daybook.assets/
///       3a/3a7f…               a content: never written again, mode 0444, named as `sha256sum` names it
///       ingest-9c1f03…         a content on its way in, or a second name that keeps one from going until a commit
///       staged/                copies that were handed out, see `AssetLibrary`
///       unreferenced           when the collector first saw names that nothing refers to
///
/// The store knows bytes and names; what is referred to is the record layer's to say. Ingest: `AssetStore+Ingest`. Going
/// away: `AssetStore+Collect`.
///
/// Always true: a file under its digest's name holds all its bytes, durably, before its name does; a name is durable before
/// the frame that refers to it is written. Nothing here is tied to the log's file but by its path.
package final class AssetStore: Sendable {
  /// `<file>.assets`.
  package let directory: String
  package let disk: any Disk
  let random: @Sendable () -> UInt64
  let state = Locked(State())

  struct State {
    /// Temporary names of ingests that have not ended.
    var temporaries: Set<String> = []
    /// Directories whose own name is known to be durable. None is ever removed while the store is open.
    var durableDirectories: Set<String> = []
    /// While a collection runs: what transactions have referred to since it began.
    var rescued: Set<AssetDigest>?
    /// A sync failed: what it should have made durable may never be, whatever a second sync says.
    var syncFailure: DiskFailure?
  }

  static let temporaryPrefix = "ingest-"
  package static let stagingName = "staged"
  static let noteName = "unreferenced"
  static let pieceByteCount = 1 << 20

  /// - Parameter path: the database's file.
  package init(path: String, disk: any Disk, random: @escaping @Sendable () -> UInt64) {
    directory = path + ".assets"
    self.disk = disk
    self.random = random
  }

  /// Where a content is, or would be.
  package func path(of digest: AssetDigest) -> String { "\(directory)/\(digest.folder)/\(digest.name)" }

  // MARK: reading

  /// Opens a content for reading, and sees that it has the right size.
  package func open(_ digest: AssetDigest, byteCount: Int) throws(AssetFault) -> any DiskFile {
    let path = path(of: digest)
    do throws(DiskFailure) {
      let file = try disk.open(path, .readOnly)
      let found = try file.byteCount()
      guard found == byteCount else {
        file.close()
        throw DiskFailure(.status, path: path, kind: .other, code: 0, byteCount: found)
      }
      return file
    } catch {
      if error.kind == .notFound { throw .missing(path: path) }
      if error.operation == .status, error.code == 0 {
        throw .changed(path: path, byteCount: byteCount, found: error.byteCount)
      }
      throw .disk(error)
    }
  }

  /// Calls `body` with all bytes of a content, piece by piece, and then sees whether they were what the name says: only when
  /// this returns are they.
  /// - Throws: `.missing`, `.changed`, `.disk`; what `body` throws ends the reading.
  package func read<Failure: Error>(
    _ digest: AssetDigest, byteCount: Int, _ body: (ByteView) throws(Failure) -> Void
  ) throws(AssetReading<Failure>) {
    let file: any DiskFile
    do { file = try open(digest, byteCount: byteCount) } catch { throw .fault(error) }
    defer { file.close() }
    var hash = SHA256()
    let piece = ByteBuffer(capacity: max(1, min(AssetStore.pieceByteCount, byteCount)))
    var offset = 0
    while offset < byteCount {
      do {
        // Safe: the buffer was made for this many bytes.
        piece.count = try unsafe file.read(into: piece.base, count: min(piece.capacity, byteCount - offset), at: offset)
      } catch { throw .fault(.disk(error)) }
      if piece.count == 0 { break }
      hash.update(piece.view)
      do { try body(piece.view) } catch { throw .caller(error) }
      offset += piece.count
    }
    guard offset == byteCount, AssetDigest(hash.finish()) == digest || isMutant("accept-asset-content") else {
      throw .fault(.changed(path: path(of: digest), byteCount: byteCount, found: offset))
    }
  }

  /// Reads all of a content and compares it with its name.
  package func verify(_ digest: AssetDigest, byteCount: Int) throws(AssetFault) {
    do {
      try read(digest, byteCount: byteCount) { (_) throws(Never) in }
    } catch {
      switch error {
      case .fault(let fault): throw fault
      }
    }
  }

  // MARK: names

  /// A name in the directory that nobody has, known to be in use from now on.
  func newTemporary() -> String {
    var digits = String(random(), radix: 16)
    digits = String(repeating: "0", count: 16 - digits.count) + digits
    let path = "\(directory)/\(AssetStore.temporaryPrefix)\(digits)"
    state.withLock { _ = $0.temporaries.insert(path) }
    return path
  }

  /// Takes a temporary name away. A name that stays is a leftover; the collector removes it.
  func release(_ temporary: String) {
    try? disk.remove(temporary)
    state.withLock { _ = $0.temporaries.remove(temporary) }
  }

  /// Makes a directory unless it is there.
  package func makeDirectory(_ path: String) throws(DiskFailure) {
    do { try disk.makeDirectory(path) } catch { if error.kind != .exists { throw error } }
  }

  /// Makes a content's name survive power loss, with the directories above it. Theirs once for each open: whoever made them
  /// may have died before syncing.
  func syncNames(of digest: AssetDigest) throws(DiskFailure) {
    if isMutant("skip-asset-directory-sync") { return }
    let folder = "\(directory)/\(digest.folder)"
    do throws(DiskFailure) {
      try disk.syncDirectory(holding: path(of: digest))
      for path in [folder, directory] where !state.withLock({ $0.durableDirectories.contains(path) }) {
        try disk.syncDirectory(holding: path)
        state.withLock { _ = $0.durableDirectories.insert(path) }
      }
    } catch {
      remember(error)
      throw error
    }
  }

  func sync(_ file: any DiskFile) throws(DiskFailure) {
    if isMutant("skip-asset-sync") { return }
    do { try file.sync(.full) } catch {
      remember(error)
      throw error
    }
  }

  /// A failed sync is final, as for the log: until the database is opened again nothing is taken in any more.
  private func remember(_ failure: DiskFailure) { state.withLock { $0.syncFailure = $0.syncFailure ?? failure } }

  func checkSyncs() throws(DiskFailure) {
    if let failure = state.withLock({ $0.syncFailure }) { throw failure }
  }
}

/// What can be wrong with an asset.
package enum AssetFault: Error, Sendable {
  /// No file has the content.
  case missing(path: String)
  /// A file holds something else than it should: another size, or other bytes. `found` are its bytes, where that says something.
  case changed(path: String, byteCount: Int, found: Int?)
  case disk(DiskFailure)
}

/// Why a reading ended: the asset's fault, or its reader's.
package enum AssetReading<Failure: Error>: Error {
  case fault(AssetFault)
  case caller(Failure)
}
