import DaybookEngine
import Synchronization

/// A disk that forwards every call to another one and counts the expensive ones: writes, syncs of files, syncs of
/// directories, and the bytes that are read and written by calls.
package final class CountingDisk<Base: Disk>: ForwardingDisk {
  package let disk: Base
  private let counts = DiskCounts()

  package init(_ disk: Base) { self.disk = disk }

  package var writeCount: Int { counts.writes.load(ordering: .relaxed) }
  package var writtenByteCount: Int { counts.writtenBytes.load(ordering: .relaxed) }
  package var syncCount: Int { counts.syncs.load(ordering: .relaxed) }
  package var directorySyncCount: Int { counts.directorySyncs.load(ordering: .relaxed) }
  package var readByteCount: Int { counts.readBytes.load(ordering: .relaxed) }

  package func open(_ path: String, _ mode: OpenMode) throws(DiskFailure) -> any DiskFile {
    CountingFile(try disk.open(path, mode), counts)
  }
  package func create(_ path: String, byteCount: Int) throws(DiskFailure) -> any DiskFile {
    CountingFile(try disk.create(path, byteCount: byteCount), counts)
  }
  package func createPrivate(_ path: String, byteCount: Int?) throws(DiskFailure) -> any DiskFile {
    CountingFile(try disk.createPrivate(path, byteCount: byteCount), counts)
  }
  package func syncDirectory(holding path: String) throws(DiskFailure) {
    counts.directorySyncs.wrappingAdd(1, ordering: .relaxed)
    try disk.syncDirectory(holding: path)
  }
}

private final class DiskCounts: Sendable {
  let writes = Atomic(0)
  let syncs = Atomic(0)
  let directorySyncs = Atomic(0)
  let readBytes = Atomic(0)
  let writtenBytes = Atomic(0)
}

private final class CountingFile: ForwardingFile {
  let file: any DiskFile
  private let counts: DiskCounts

  init(_ file: any DiskFile, _ counts: DiskCounts) {
    self.file = file
    self.counts = counts
  }

  func write(_ bytes: ByteView, at offset: Int) throws(DiskFailure) {
    counts.writes.wrappingAdd(1, ordering: .relaxed)
    counts.writtenBytes.wrappingAdd(bytes.count, ordering: .relaxed)
    try file.write(bytes, at: offset)
  }

  func read(into target: UnsafeMutableRawPointer, count: Int, at offset: Int) throws(DiskFailure) -> Int {
    // Safe: the caller vouches for the memory.
    let byteCount = unsafe try file.read(into: target, count: count, at: offset)
    counts.readBytes.wrappingAdd(byteCount, ordering: .relaxed)
    return byteCount
  }

  func sync(_ level: SyncLevel) throws(DiskFailure) {
    counts.syncs.wrappingAdd(1, ordering: .relaxed)
    try file.sync(level)
  }
}
