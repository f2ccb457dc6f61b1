import DaybookEngine
import Synchronization

/// The system's disk. It lets a test do something before each call that uses a name, by its path or below a folder.
package final class HookedDisk: ForwardingDisk, @unchecked Sendable {
  package typealias Hook = @Sendable (_ operation: DiskFailure.Operation, _ path: String) throws(DiskFailure) -> Void

  package let disk = SystemDisk()
  /// A closure that a lock gives out by itself is wrapped again each time, until a call of it overflows the stack.
  private struct Call { let body: Hook? }
  private let hook = Locked(Call(body: nil))
  fileprivate let folderCount = Atomic(0)

  package init() {}

  /// How many folders are open now; each has a descriptor.
  package var openFolderCount: Int { folderCount.load(ordering: .relaxed) }

  /// Sets what happens before calls; an error that it throws replaces the call.
  package func before(_ hook: Hook?) { self.hook.withLock { $0 = Call(body: hook) } }

  fileprivate func call(_ operation: DiskFailure.Operation, _ path: String) throws(DiskFailure) {
    if let hook = hook.withLock({ $0 }).body { try hook(operation, path) }
  }

  package func open(_ path: String, _ mode: OpenMode) throws(DiskFailure) -> any DiskFile {
    try call(mode == .createNew ? .create : .open, path)
    return try disk.open(path, mode)
  }
  package func create(_ path: String, byteCount: Int) throws(DiskFailure) -> any DiskFile {
    try call(.create, path)
    return try disk.create(path, byteCount: byteCount)
  }
  package func createPrivate(_ path: String, byteCount: Int?) throws(DiskFailure) -> any DiskFile {
    try call(.create, path)
    return try disk.createPrivate(path, byteCount: byteCount)
  }
  package func makeDirectory(_ path: String) throws(DiskFailure) {
    try call(.makeDirectory, path)
    try disk.makeDirectory(path)
  }
  package func makePrivateDirectory(_ path: String) throws(DiskFailure) {
    try call(.makeDirectory, path)
    try disk.makePrivateDirectory(path)
  }
  package func attributes(of path: String) throws(DiskFailure) -> FileAttributes {
    try call(.status, path)
    return try disk.attributes(of: path)
  }
  package func setAttributes(_ attributes: FileAttributes, of path: String) throws(DiskFailure) {
    try call(.protect, path)
    try disk.setAttributes(attributes, of: path)
  }
  package func exists(_ path: String) throws(DiskFailure) -> Bool {
    try call(.status, path)
    return try disk.exists(path)
  }
  package func identity(of path: String) throws(DiskFailure) -> FileIdentity? {
    try call(.status, path)
    return try disk.identity(of: path)
  }
  package func rename(_ source: String, to target: String) throws(DiskFailure) {
    try call(.rename, source)
    try disk.rename(source, to: target)
  }
  package func renameWithoutReplacing(_ source: String, to target: String) throws(DiskFailure) {
    try call(.rename, source)
    try disk.renameWithoutReplacing(source, to: target)
  }
  package func link(_ source: String, to target: String) throws(DiskFailure) {
    try call(.link, source)
    try disk.link(source, to: target)
  }
  package func remove(_ path: String) throws(DiskFailure) {
    try call(.remove, path)
    try disk.remove(path)
  }
  package func removeDirectory(_ path: String) throws(DiskFailure) {
    try call(.remove, path)
    try disk.removeDirectory(path)
  }
  package func entries(of directory: String) throws(DiskFailure) -> [DirectoryEntry] {
    try call(.list, directory)
    return try disk.entries(of: directory)
  }
  package func entriesBehindNoLink(of directory: String) throws(DiskFailure) -> [DirectoryEntry] {
    try call(.list, directory)
    return try disk.entriesBehindNoLink(of: directory)
  }
  package func syncDirectory(holding path: String) throws(DiskFailure) {
    try folder(holding: path).sync(holding: lastName(of: path))
  }
  package func folder(at path: String) throws(DiskFailure) -> any DiskFolder {
    try call(.open, path)
    return HookedFolder(try disk.folder(at: path), self)
  }
  package func folder(holding path: String) throws(DiskFailure) -> any DiskFolder {
    try call(.open, directory(holding: path))
    return HookedFolder(try disk.folder(holding: path), self)
  }
}

private final class HookedFolder: DiskFolder {
  private let base: any DiskFolder
  private let disk: HookedDisk

  init(_ base: any DiskFolder, _ disk: HookedDisk) {
    self.base = base
    self.disk = disk
    disk.folderCount.wrappingAdd(1, ordering: .relaxed)
  }

  deinit { disk.folderCount.wrappingSubtract(1, ordering: .relaxed) }

  private func called(_ operation: DiskFailure.Operation, _ name: String) throws(DiskFailure) -> any DiskFolder {
    try disk.call(operation, place(name))
    return base
  }

  private static func base(of folder: any DiskFolder) -> any DiskFolder { (folder as? HookedFolder)?.base ?? folder }

  var path: String { base.path }
  var identity: FileIdentity? { base.identity }
  func open(_ name: String, _ mode: OpenMode) throws(DiskFailure) -> any DiskFile {
    try called(mode == .createNew ? .create : .open, name).open(name, mode)
  }
  func create(_ name: String, byteCount: Int?, like attributes: FileAttributes?) throws(DiskFailure) -> any DiskFile {
    try called(.create, name).create(name, byteCount: byteCount, like: attributes)
  }
  func folder(_ name: String) throws(DiskFailure) -> any DiskFolder {
    HookedFolder(try called(.open, name).folder(name), disk)
  }
  func makeFolder(_ name: String, like attributes: FileAttributes?) throws(DiskFailure) -> any DiskFolder {
    HookedFolder(try called(.makeDirectory, name).makeFolder(name, like: attributes), disk)
  }
  func entries() throws(DiskFailure) -> [DirectoryEntry] {
    try disk.call(.list, path)
    return try base.entries()
  }
  func identity(of name: String) throws(DiskFailure) -> FileIdentity? { try called(.status, name).identity(of: name) }
  func isInside(_ folder: FileIdentity) throws(DiskFailure) -> Bool { try base.isInside(folder) }
  func remove(_ name: String) throws(DiskFailure) { try called(.remove, name).remove(name) }
  func remove(_ name: String, ownedBy owners: FileOwners) throws(DiskFailure) {
    try called(.remove, name).remove(name, ownedBy: owners)
  }
  func checkRemovable(_ name: String, ownedBy owners: FileOwners) throws(DiskFailure) {
    try called(.status, name).checkRemovable(name, ownedBy: owners)
  }
  func removeFolder(_ name: String) throws(DiskFailure) { try called(.remove, name).removeFolder(name) }
  func isEmptyFileOfRoot(_ name: String) -> Bool { base.isEmptyFileOfRoot(name) }
  func requireOwner(among owners: FileOwners) throws(DiskFailure) { try base.requireOwner(among: owners) }
  func rename(_ name: String, to target: any DiskFolder, _ newName: String) throws(DiskFailure) {
    try called(.rename, name).rename(name, to: HookedFolder.base(of: target), newName)
  }
  func renameWithoutReplacing(_ name: String, to target: any DiskFolder, _ newName: String) throws(DiskFailure) {
    try called(.rename, name).renameWithoutReplacing(name, to: HookedFolder.base(of: target), newName)
  }
  func renameFolder(_ name: String, toFree newName: String) throws(DiskFailure) {
    try called(.rename, name).renameFolder(name, toFree: newName)
  }
  func link(_ name: String, to target: any DiskFolder, _ newName: String) throws(DiskFailure) {
    try called(.link, name).link(name, to: HookedFolder.base(of: target), newName)
  }
  func clone(_ source: any DiskFile, to name: String) throws(DiskFailure) -> Bool {
    try called(.create, name).clone(source, to: name)
  }
  func attributes() throws(DiskFailure) -> FileAttributes {
    try disk.call(.status, path)
    return try base.attributes()
  }
  func setAttributes(_ attributes: FileAttributes) throws(DiskFailure) {
    try disk.call(.protect, path)
    try base.setAttributes(attributes)
  }
  func removeUnfinishedNames(ownedBy owners: FileOwners) { base.removeUnfinishedNames(ownedBy: owners) }
  func sync(holding name: String) throws(DiskFailure) { try called(.syncDirectory, name).sync(holding: name) }
  func spareDescriptors(_ count: Int) throws(DiskFailure) -> SpareDescriptors? { try base.spareDescriptors(count) }
}
