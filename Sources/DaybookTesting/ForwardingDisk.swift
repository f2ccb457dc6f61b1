import DaybookEngine

/// A disk that hands every call to a simulated one, for tests that change a few of them.
package protocol ForwardingDisk: Disk {
  var disk: SimulatedDisk { get }
}

extension ForwardingDisk {
  package func open(_ path: String, _ mode: OpenMode) throws(DiskFailure) -> any DiskFile { try disk.open(path, mode) }
  package func create(_ path: String, byteCount: Int) throws(DiskFailure) -> any DiskFile {
    try disk.create(path, byteCount: byteCount)
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
  package func syncDirectory(holding path: String) throws(DiskFailure) { try disk.syncDirectory(holding: path) }
}
