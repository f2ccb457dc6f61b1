import DaybookEngine

/// A disk as one process sees it: it knows which of its descriptions hold the writer's byte, counts what was written into a
/// database without it, and lets a test do something before calls.
package final class WatchedDisk<Base: Disk>: ForwardingDisk, @unchecked Sendable {
  package let disk: Base
  package let watch = Watch()

  package init(_ disk: Base) { self.disk = disk }

  package func open(_ path: String, _ mode: OpenMode) throws(DiskFailure) -> any DiskFile {
    WatchedFile(try disk.open(path, mode), watch)
  }
  package func create(_ path: String, byteCount: Int) throws(DiskFailure) -> any DiskFile {
    WatchedFile(try disk.create(path, byteCount: byteCount), watch)
  }
  package func createPrivate(_ path: String, byteCount: Int?) throws(DiskFailure) -> any DiskFile {
    WatchedFile(try disk.createPrivate(path, byteCount: byteCount), watch)
  }
}

/// What a watched disk has seen, and what it does on the way.
package final class Watch: @unchecked Sendable {
  package typealias Hook = @Sendable (any DiskFile) throws(DiskFailure) -> Void
  private struct State {
    var holders: [FileIdentity: Set<ObjectIdentifier>] = [:]
    var unlockedWriteCount = 0
    var beforeWrite: Hook?
    var beforeSync: Hook?
    var beforeByteCount: Hook?
  }
  private let state = Locked(State())

  /// Writes and truncations of a database file, its first page aside, without the writer's byte.
  package var unlockedWriteCount: Int { state.withLock { $0.unlockedWriteCount } }
  /// Files whose writer's byte is held.
  package var heldCount: Int { state.withLock { $0.holders.count } }

  package func beforeWrite(_ hook: Hook?) { state.withLock { $0.beforeWrite = hook } }
  package func beforeSync(_ hook: Hook?) { state.withLock { $0.beforeSync = hook } }
  package func beforeByteCount(_ hook: Hook?) { state.withLock { $0.beforeByteCount = hook } }

  fileprivate func write(_ file: WatchedFile) throws(DiskFailure) {
    if let hook = state.withLock({ $0.beforeWrite }) { try hook(file) }
    guard file.path.hasSuffix(".daybook") else { return }
    state.withLock { if $0.holders[file.identity] == nil { $0.unlockedWriteCount += 1 } }
  }
  fileprivate func sync(_ file: WatchedFile) throws(DiskFailure) {
    if let hook = state.withLock({ $0.beforeSync }) { try hook(file) }
  }
  fileprivate func byteCount(_ file: WatchedFile) throws(DiskFailure) {
    if let hook = state.withLock({ $0.beforeByteCount }) { try hook(file) }
  }
  fileprivate func took(_ file: WatchedFile) {
    state.withLock { _ = $0.holders[file.identity, default: []].insert(ObjectIdentifier(file)) }
  }
  fileprivate func gaveBack(_ file: WatchedFile) {
    state.withLock { state in
      state.holders[file.identity]?.remove(ObjectIdentifier(file))
      if state.holders[file.identity]?.isEmpty ?? false { state.holders[file.identity] = nil }
    }
  }
}

private final class WatchedFile: ForwardingFile {
  let file: any DiskFile
  private let watch: Watch

  init(_ file: any DiskFile, _ watch: Watch) {
    self.file = file
    self.watch = watch
  }

  func write(_ bytes: ByteView, at offset: Int) throws(DiskFailure) {
    if offset >= FileHeader.byteCount { try watch.write(self) }
    try file.write(bytes, at: offset)
  }
  func truncate(to byteCount: Int) throws(DiskFailure) {
    if byteCount > 0 { try watch.write(self) }
    try file.truncate(to: byteCount)
  }
  func sync(_ level: SyncLevel) throws(DiskFailure) {
    try watch.sync(self)
    try file.sync(level)
  }
  func byteCount() throws(DiskFailure) -> Int {
    try watch.byteCount(self)
    return try file.byteCount()
  }
  func tryLock(_ byte: LockByte, _ strength: LockStrength) throws(DiskFailure) -> Bool {
    let done = try file.tryLock(byte, strength)
    if done, byte == .writer, strength == .exclusive { watch.took(self) }
    return done
  }
  func unlock(_ byte: LockByte) {
    if byte == .writer { watch.gaveBack(self) }
    file.unlock(byte)
  }
  func close() {
    watch.gaveBack(self)
    file.close()
  }
  func closeRemoved(_ goesOn: () -> Bool) {
    watch.gaveBack(self)
    file.closeRemoved(goesOn)
  }
}
