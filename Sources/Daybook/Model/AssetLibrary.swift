#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine
import Synchronization

/// A database's asset files as records see them: errors with codes, and copies to hand out.
///
/// Files that were handed out are copies, never the stored ones: a hard link would share the bytes, and a program that may
/// change a file's mode could write through it. `staged` remembers them with the state they had; a copy that was changed
/// since is not handed out again.
package final class AssetLibrary: Sendable {
  package let store: AssetStore
  private let staging: Locked<Staging>
  /// When a collection is due, in nanoseconds of the monotonic clock; `.max` while nothing has been dropped. With a sign,
  /// because `min` of an atomic number without one takes large numbers for negative ones (Swift 6.3).
  private let due = Atomic<Int64>(.max)
  private let endRequests: EndRequests

  private struct Staging {
    /// Whether copies lie beside the database, where blocks can be shared; not when nothing may be written there.
    var isBeside: Bool
    /// Made for this object alone, and removed with it.
    var ownFolder: StagingFolder?
    var copies: [AssetDigest: Copy] = [:]
  }

  private struct Copy {
    let path: String
    let state: SourceState
  }

  /// - Parameter stagesBeside: whether copies may lie in the store's own directory.
  init(store: AssetStore, stagesBeside: Bool, endRequests: EndRequests) {
    self.store = store
    self.endRequests = endRequests
    staging = Locked(Staging(isBeside: stagesBeside))
  }

  // MARK: when to collect

  /// Whether a collection is due or will be.
  @inline(__always)
  var mayBeDue: Bool { due.load(ordering: .sequentiallyConsistent) != .max }

  /// A collection is due after so many seconds, unless one is due before. Who says so because of a suspension looks then whether that
  /// is over: the look of `resume` may have come first.
  func collectionIsDue(inSeconds seconds: Int64) {
    let (wait, isLong) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let (time, isOverflow) = Int64(clamping: SystemClock.monotonicNanoseconds()).addingReportingOverflow(wait)
    guard !isLong, !isOverflow else { return }
    _ = due.min(time, ordering: .sequentiallyConsistent)
  }

  /// True once for each collection that has become due.
  func takeDueCollection() -> Bool {
    let time = due.load(ordering: .relaxed)
    guard time <= Int64(clamping: SystemClock.monotonicNanoseconds()) else { return false }
    return due.compareExchange(expected: time, desired: .max, ordering: .relaxed).exchanged
  }

  /// Not while the database is suspended, or about to be: a collection that is at work stops, so that no suspension waits for it
  /// with the file lock.
  var mayCollect: Bool { !endRequests.isSuspending }

  // MARK: reading

  static func read(
    _ store: AssetStore, _ digest: AssetDigest, _ byteCount: Int, _ body: (Data) throws -> Void
  ) throws {
    let file: any DiskFile
    do { file = try store.open(digest, byteCount: byteCount) } catch { throw DatabaseError(error) }
    defer { file.close() }
    try read(file, digest, byteCount, body)
  }

  /// A content that is held, by the name that is ours: a collection may have taken its own.
  static func read(_ hold: AssetHold, _ body: (Data) throws -> Void) throws {
    let file: any DiskFile
    do { file = try hold.open() } catch {
      throw DatabaseError(error.kind == .notFound ? .missing(path: error.path) : AssetFault.disk(error))
    }
    defer { file.close() }
    try read(file, hold.digest, hold.byteCount, body)
  }

  private static func read(
    _ file: any DiskFile, _ digest: AssetDigest, _ byteCount: Int, _ body: (Data) throws -> Void
  ) throws {
    do {
      // Safe: Data copies the bytes of the piece.
      try AssetStore.read(file, digest, byteCount: byteCount) { (piece) throws in try body(unsafe Data(piece.buffer)) }
    } catch {
      switch error {
      case .fault(let fault): throw DatabaseError(fault)
      case .caller(let error): throw error
      }
    }
  }

  /// A file that is not ours, and may have any size by now. Closes it.
  static func read(
    _ file: any DiskFile, _ url: URL, _ byteCount: Int, expected: AssetDigest?, _ body: (Data) throws -> Void
  ) throws {
    defer { file.close() }
    var hash = SHA256()
    let piece = ByteBuffer(capacity: max(1, min(1 << 20, byteCount)))
    var offset = 0
    while true {
      // Safe: the buffer was made for this many bytes.
      do { piece.count = try unsafe file.read(into: piece.base, count: piece.capacity, at: offset) } catch {
        throw DatabaseError(error)
      }
      if piece.count == 0 { break }
      offset += piece.count
      guard offset <= byteCount else { break }
      if expected != nil { hash.update(piece.view) }
      try body(unsafe Data(piece.view.buffer))
    }
    guard offset == byteCount, expected == nil || AssetDigest(hash.finish()) == expected else {
      throw DatabaseError(.assetFileModified, facts: .init(path: url.path, size: offset))
    }
  }

  /// A file that is not ours, and may be anything by now.
  /// - Parameter known: what it must be; anything else is `assetFileModified`.
  static func open(_ url: URL, ifStill known: SourceState? = nil) throws(DatabaseError) -> any DiskFile {
    guard url.isFileURL else {
      throw DatabaseError(.invalidArguments, "An asset is made from a file URL.", facts: .init(found: url.scheme))
    }
    let file: (any DiskFile)?
    do {
      file = if let known { try SystemDisk.openSource(url.path, ifStill: known) } else { try SystemDisk.openSource(url.path) }
    } catch {
      if error.kind == .notRegular {
        throw DatabaseError(
          .invalidArguments, "An asset is made from a regular file.", facts: .init(path: url.path), cause: error)
      }
      throw DatabaseError(
        .assetFileNotFound, "The file of the asset cannot be read.", facts: .init(path: url.path), cause: error)
    }
    guard let file else { throw DatabaseError(.assetFileModified, facts: .init(path: url.path)) }
    return file
  }

  // MARK: handing out

  /// A file with a content, for others to read. Made and verified at the first call, then the same until it is changed.
  func fileURL(of digest: AssetDigest, byteCount: Int) throws(DatabaseError) -> URL {
    try prepareToStage()
    if let known = staging.withLock({ $0.copies[digest] }), isUnchanged(known, byteCount) {
      return URL(filePath: known.path)
    }
    let source: any DiskFile
    do { source = try store.open(digest, byteCount: byteCount) } catch { throw DatabaseError(error) }
    defer { source.close() }
    return try stage(.file(source), digest, byteCount)
  }

  /// The same for a content that lies in its record.
  func fileURL(of data: Data, _ digest: AssetDigest) throws(DatabaseError) -> URL {
    try prepareToStage()
    if let known = staging.withLock({ $0.copies[digest] }), isUnchanged(known, data.count) {
      return URL(filePath: known.path)
    }
    let buffer = ByteBuffer(capacity: max(1, data.count))
    buffer.append([UInt8](data))
    return try stage(.bytes(buffer.view), digest, data.count)
  }

  /// Whether a file is the copy of a content that was handed out, and has not been changed since.
  func hasHandedOut(_ digest: AssetDigest, _ path: String, _ state: SourceState) -> Bool {
    guard let copy = staging.withLock({ $0.copies[digest] }) else { return false }
    return copy.path == path && copy.state == state
  }

  /// Before a file is handed out: what lies beside the database has its rights as they are now.
  private func prepareToStage() throws(DatabaseError) {
    do { try store.checkProcess() } catch { throw DatabaseError(error) }
    if staging.withLock({ $0.isBeside }) { store.narrowRights() }
  }

  private func stage(_ input: AssetInput, _ digest: AssetDigest, _ byteCount: Int) throws(DatabaseError) -> URL {
    let (folder, name, temporary) = try newPlace(digest)
    let path = folder.place(name)
    let url = URL(filePath: path)
    let state: SourceState
    do throws(DatabaseError) {
      state = try copy(input, digest, byteCount, to: name, in: folder, url)
    } catch {
      if let temporary { store.release(temporary) } else { try? folder.remove(name) }
      throw error
    }
    staging.withLock { $0.copies[digest] = Copy(path: path, state: state) }
    return url
  }

  /// Makes a copy below an open folder.
  /// - Parameter url: where its receiver will look for it. Another user may have put a file there, if a folder above was renamed.
  private func copy(
    _ input: AssetInput, _ digest: AssetDigest, _ byteCount: Int, to name: String, in folder: any DiskFolder, _ url: URL
  ) throws(DatabaseError) -> SourceState {
    let file: any DiskFile
    do throws(AssetFault) {
      let found: AssetDigest
      (file, found) = try AssetStore.copy(input, byteCount: byteCount, to: name, in: folder)
      guard found == digest else {
        file.close()
        throw AssetFault.changed(path: store.path(of: digest), byteCount: byteCount, found: nil)
      }
    } catch { throw DatabaseError(error) }
    defer { file.close() }
    // The copy is the caller's to read; changing it does no harm, and is noticed.
    do { try store.protect(file) } catch { throw DatabaseError(error) }
    let state = try Asset.state(of: url)
    guard state.identity == file.identity || isMutant("hand-out-by-path") else {
      throw DatabaseError(
        .ioFailed, "Another file has the path of a copy of an asset: a folder was renamed.", facts: .init(path: url.path))
    }
    return state
  }

  private func isUnchanged(_ copy: Copy, _ byteCount: Int) -> Bool {
    guard let state = try? Asset.state(of: URL(filePath: copy.path)) else { return false }
    return state.byteCount == byteCount && state == copy.state
  }

  /// A name that is free, in a folder that is open; as a name that the store holds, where that is beside the database.
  private func newPlace(
    _ digest: AssetDigest
  ) throws(DatabaseError) -> (folder: any DiskFolder, name: String, temporary: AssetTemporary?) {
    if staging.withLock({ $0.isBeside }) {
      do {
        let temporary = try store.newStagedCopy(digest)
        return (temporary.folder, temporary.name, temporary)
      } catch {
        // In another one's folder, copies would be what that one makes of them.
        guard [.permission, .foreign, .nameLost].contains(error.kind) else { throw DatabaseError(error) }
        // Copies go where the system wants temporary files.
        staging.withLock { $0.isBeside = false }
      }
    }
    let random = String(UInt64.random(in: .min ... .max), radix: 16)
    let name = "\(digest.name)-\(random)"
    return try staging.withLock { (staging) throws(DatabaseError) in
      if let own = staging.ownFolder, own.hasName { return (own.folder, name, nil) }
      do throws(DiskFailure) {
        let own = try StagingFolder()
        staging.ownFolder = own
        return (own.folder, name, nil)
      } catch {
        throw DatabaseError(
          .ioFailed, "No folder can be made for copies of assets.", facts: .init(path: error.path), cause: error)
      }
    }
  }
}

extension DatabaseError {
  init(_ fault: AssetFault) {
    switch fault {
    case .missing(let path): self.init(.assetFileNotFound, facts: .init(path: path), cause: fault)
    case .changed(let path, let byteCount, let found):
      self.init(
        .assetFileModified, facts: .init(path: path, size: found, expected: "\(byteCount) bytes"), cause: fault)
    case .disk(let failure): self.init(failure)
    }
  }
}
