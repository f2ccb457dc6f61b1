import DaybookEngine
import Synchronization

/// A disk that hands every call to another one and counts what costs: writes, syncs of files, syncs of directories.
package final class CountingDisk: Disk {
  private let disk: any Disk
  private let counts = DiskCounts()

  package init(_ disk: any Disk) { self.disk = disk }

  package var writeCount: Int { counts.writes.load(ordering: .relaxed) }
  package var syncCount: Int { counts.syncs.load(ordering: .relaxed) }
  package var directorySyncCount: Int { counts.directorySyncs.load(ordering: .relaxed) }

  package func open(_ path: String, _ mode: OpenMode) throws(DiskFailure) -> any DiskFile {
    CountingFile(try disk.open(path, mode), counts)
  }
  package func create(_ path: String, byteCount: Int) throws(DiskFailure) -> any DiskFile {
    CountingFile(try disk.create(path, byteCount: byteCount), counts)
  }
  package func syncDirectory(holding path: String) throws(DiskFailure) {
    counts.directorySyncs.wrappingAdd(1, ordering: .relaxed)
    try disk.syncDirectory(holding: path)
  }

  package func exists(_ path: String) throws(DiskFailure) -> Bool { try disk.exists(path) }
  package func identity(of path: String) throws(DiskFailure) -> FileIdentity? { try disk.identity(of: path) }
  package func rename(_ source: String, to target: String) throws(DiskFailure) { try disk.rename(source, to: target) }
  package func renameWithoutReplacing(_ source: String, to target: String) throws(DiskFailure) {
    try disk.renameWithoutReplacing(source, to: target)
  }
  package func remove(_ path: String) throws(DiskFailure) { try disk.remove(path) }
  package func clone(_ source: String, to target: String) throws(DiskFailure) -> Bool {
    try disk.clone(source, to: target)
  }
  package func link(_ source: String, to target: String) throws(DiskFailure) { try disk.link(source, to: target) }
  package func makeDirectory(_ path: String) throws(DiskFailure) { try disk.makeDirectory(path) }
  package func removeDirectory(_ path: String) throws(DiskFailure) { try disk.removeDirectory(path) }
  package func entries(of directory: String) throws(DiskFailure) -> [DirectoryEntry] {
    try disk.entries(of: directory)
  }
}

private final class DiskCounts: Sendable {
  let writes = Atomic(0)
  let syncs = Atomic(0)
  let directorySyncs = Atomic(0)
}

private final class CountingFile: DiskFile {
  private let file: any DiskFile
  private let counts: DiskCounts

  init(_ file: any DiskFile, _ counts: DiskCounts) {
    self.file = file
    self.counts = counts
  }

  var path: String { file.path }
  var identity: FileIdentity { file.identity }
  func byteCount() throws(DiskFailure) -> Int { try file.byteCount() }

  func write(_ bytes: ByteView, at offset: Int) throws(DiskFailure) {
    counts.writes.wrappingAdd(1, ordering: .relaxed)
    try file.write(bytes, at: offset)
  }

  func sync(_ level: SyncLevel) throws(DiskFailure) {
    counts.syncs.wrappingAdd(1, ordering: .relaxed)
    try file.sync(level)
  }

  func read(into target: UnsafeMutableRawPointer, count: Int, at offset: Int) throws(DiskFailure) -> Int {
    // Safe: the caller's word, handed on.
    unsafe try file.read(into: target, count: count, at: offset)
  }

  func truncate(to byteCount: Int) throws(DiskFailure) { try file.truncate(to: byteCount) }
  func copyRange(of source: any DiskFile, at offset: Int, count: Int) throws(DiskFailure) -> Int? {
    try file.copyRange(of: (source as? CountingFile)?.file ?? source, at: offset, count: count)
  }
  func makeReadOnly() throws(DiskFailure) { try file.makeReadOnly() }
  var base: UnsafeRawPointer { unsafe file.base }
  func map(through end: Int) throws(DiskFailure) { try file.map(through: end) }
  func tryLock(_ byte: LockByte, _ strength: LockStrength) throws(DiskFailure) -> Bool {
    try file.tryLock(byte, strength)
  }
  func unlock(_ byte: LockByte) { file.unlock(byte) }
  func close() { file.close() }
}
