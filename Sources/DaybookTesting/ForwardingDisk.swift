import DaybookEngine

/// A disk that forwards every call to another one, for disks that change or count a few of them.
package protocol ForwardingDisk: Disk {
  associatedtype Base: Disk
  var disk: Base { get }
}

/// A file that forwards every call to another one.
package protocol ForwardingFile: DiskFile {
  var file: any DiskFile { get }
}

extension ForwardingFile {
  package var path: String { file.path }
  package var identity: FileIdentity { file.identity }
  package func byteCount() throws(DiskFailure) -> Int { try file.byteCount() }
  package func write(_ bytes: ByteView, at offset: Int) throws(DiskFailure) { try file.write(bytes, at: offset) }
  package func read(into target: UnsafeMutableRawPointer, count: Int, at offset: Int) throws(DiskFailure) -> Int {
    // Safe: the caller vouches for the memory.
    unsafe try file.read(into: target, count: count, at: offset)
  }
  package func contentStart(from offset: Int) -> Int { file.contentStart(from: offset) }
  package func sync(_ level: SyncLevel) throws(DiskFailure) { try file.sync(level) }
  package func beginWriteBack(_ range: Range<Int>) { file.beginWriteBack(range) }
  package func truncate(to byteCount: Int) throws(DiskFailure) { try file.truncate(to: byteCount) }
  package func copyRange(of source: any DiskFile, at offset: Int, count: Int) throws(DiskFailure) -> Int? {
    try file.copyRange(of: (source as? any ForwardingFile)?.file ?? source, at: offset, count: count)
  }
  package func makeReadOnly() throws(DiskFailure) { try file.makeReadOnly() }
  package func linkCount() throws(DiskFailure) -> Int { try file.linkCount() }
  package func attributes() throws(DiskFailure) -> FileAttributes { try file.attributes() }
  package func setAttributes(_ attributes: FileAttributes) throws(DiskFailure) { try file.setAttributes(attributes) }
  package var base: UnsafeRawPointer { unsafe file.base }
  package func map(upTo end: Int) throws(DiskFailure) { try file.map(upTo: end) }
  package var mappableByteCount: Int { file.mappableByteCount }
  package func tryLock(_ byte: LockByte, _ strength: LockStrength) throws(DiskFailure) -> Bool {
    try file.tryLock(byte, strength)
  }
  package func isLockedByOthers(_ byte: LockByte) throws(DiskFailure) -> Bool { try file.isLockedByOthers(byte) }
  package func unlock(_ byte: LockByte) { file.unlock(byte) }
  package func close() { file.close() }
  package func closeRemoved(_ goesOn: () -> Bool) { file.closeRemoved(goesOn) }
}

extension ForwardingDisk {
  package func open(_ path: String, _ mode: OpenMode) throws(DiskFailure) -> any DiskFile { try disk.open(path, mode) }
  package func create(_ path: String, byteCount: Int) throws(DiskFailure) -> any DiskFile {
    try disk.create(path, byteCount: byteCount)
  }
  package func createPrivate(_ path: String, byteCount: Int?) throws(DiskFailure) -> any DiskFile {
    try disk.createPrivate(path, byteCount: byteCount)
  }
  package func makePrivateDirectory(_ path: String) throws(DiskFailure) { try disk.makePrivateDirectory(path) }
  package func attributes(of path: String) throws(DiskFailure) -> FileAttributes { try disk.attributes(of: path) }
  package func setAttributes(_ attributes: FileAttributes, of path: String) throws(DiskFailure) {
    try disk.setAttributes(attributes, of: path)
  }
  package func resolve(_ path: String) throws(DiskFailure) -> String { try disk.resolve(path) }
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
  package func entriesBehindNoLink(of directory: String) throws(DiskFailure) -> [DirectoryEntry] {
    try disk.entriesBehindNoLink(of: directory)
  }
  package func syncDirectory(holding path: String) throws(DiskFailure) { try disk.syncDirectory(holding: path) }
}
