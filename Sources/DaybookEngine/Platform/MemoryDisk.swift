/// A disk made of memory: the files of `Database.inMemory()`, gone with the disk.
///
/// A file begins with a reservation of zeroed memory (`MemoryContent`), so its content never moves while it grows, and a reader
/// looks at it in place as it would at a mapping. Memory is used only for what was written. A sync does nothing.
///
/// Always true: a file lives as long as a name or an open description leads to it; one lock guards all of a disk.
import Synchronization

package final class MemoryDisk: Disk {
  fileprivate struct State {
    var files: [String: MemoryContent] = [:]
    var directories: Set<String> = []
    /// Only of directories that were given some.
    var directoryAttributes: [String: FileAttributes] = [:]
    var inodeCount: UInt64 = 0
    var descriptionCount = 0

    /// Makes `target` a second name of a file, if it is free.
    mutating func give(_ target: String, to source: String, _ operation: DiskFailure.Operation) throws(DiskFailure) {
      guard let content = files[source] else { throw DiskFailure(operation, path: source, code: ErrorNumber.notFound) }
      if files[target] != nil { throw DiskFailure(operation, path: source, code: ErrorNumber.exists) }
      files[target] = content
    }
  }

  fileprivate let state = Locked(State())
  /// A child after `fork` leaves the locks of its parent's files alone.
  fileprivate let process = processID()
  private let device = MemoryDisk.newDevice()

  private static let deviceCount = Atomic<UInt64>(0)

  /// A device number that no other disk in this process has, and no disk of the system.
  package static func newDevice() -> UInt64 {
    1 << 63 | deviceCount.add(1, ordering: .relaxed).newValue
  }

  private let inPlaceByteCount: Int?
  private let pieceByteCount: Int

  /// - Parameters:
  ///   - inPlaceByteCount: how much of a file can be looked at in place; nil for as much as there is address space for.
  ///   - pieceByteCount: in what steps a file grows from there on; whole pages of memory.
  package init(inPlaceByteCount: Int? = nil, pieceByteCount: Int = 64 << 20) {
    self.inPlaceByteCount = inPlaceByteCount
    self.pieceByteCount = pieceByteCount
  }

  package func open(_ path: String, _ mode: OpenMode) throws(DiskFailure) -> any DiskFile {
    try open(path, mode, first: inPlaceByteCount ?? AddressSpace.reservationForMemory)
  }

  /// There may be many assets, so each takes address space for its own bytes and no more.
  package func create(_ path: String, byteCount: Int) throws(DiskFailure) -> any DiskFile {
    let page = SystemCall.memoryPageByteCount
    return try open(path, .createNew, first: max(1, (byteCount + page - 1) / page) * page)
  }

  package func createPrivate(_ path: String, byteCount: Int?) throws(DiskFailure) -> any DiskFile {
    let file: any DiskFile
    if let byteCount { file = try create(path, byteCount: byteCount) } else { file = try open(path, .createNew) }
    try file.setAttributes(FileAttributes(mode: 0o600))
    return file
  }

  package func makePrivateDirectory(_ path: String) throws(DiskFailure) {
    try makeDirectory(path)
    state.withLock { $0.directoryAttributes[path] = FileAttributes(mode: 0o700) }
  }

  /// Attributes without effect: only this library reaches a file in memory.
  package func attributes(of path: String) throws(DiskFailure) -> FileAttributes {
    try state.withLock { (state) throws(DiskFailure) in
      if let content = state.files[path] { return content.attributes }
      guard state.directories.contains(path) else { throw DiskFailure(.status, path: path, code: ErrorNumber.notFound) }
      return state.directoryAttributes[path] ?? .ofNewDirectory
    }
  }

  package func setAttributes(_ attributes: FileAttributes, of path: String) throws(DiskFailure) {
    try state.withLock { (state) throws(DiskFailure) in
      if let content = state.files[path] { return content.attributes = attributes }
      guard state.directories.contains(path) else { throw DiskFailure(.protect, path: path, code: ErrorNumber.notFound) }
      state.directoryAttributes[path] = attributes
    }
  }

  private func open(_ path: String, _ mode: OpenMode, first: Int) throws(DiskFailure) -> any DiskFile {
    let (device, pieceByteCount) = (device, pieceByteCount)
    return try state.withLock { (state) throws(DiskFailure) in
      let content: MemoryContent
      if let known = state.files[path] {
        if mode == .createNew { throw DiskFailure(.create, path: path, code: ErrorNumber.exists) }
        content = known
      } else {
        guard mode == .createNew else { throw DiskFailure(.open, path: path, code: ErrorNumber.notFound) }
        guard !state.directories.contains(path) else { throw DiskFailure(.create, path: path, code: ErrorNumber.exists) }
        let page = SystemCall.memoryPageByteCount
        let granted = unsafe AddressSpace.take(upTo: first, least: min(first, 1 << 20), unit: page) {
          unsafe RawMemory.reserveZeroed(byteCount: $0)
        }
        guard let memory = unsafe granted else {
          throw DiskFailure(.create, path: path, code: ErrorNumber.noMemory, byteCount: first)
        }
        state.inodeCount += 1
        let identity = FileIdentity(device: device, inode: state.inodeCount)
        content = unsafe MemoryContent(
          identity: identity, base: memory.base, inPlaceByteCount: memory.byteCount, pieceByteCount: pieceByteCount)
        state.files[path] = content
      }
      state.descriptionCount += 1
      return MemoryFile(
        disk: self, path: path, content: content, description: state.descriptionCount, isWritable: mode.mayWrite)
    }
  }

  package func exists(_ path: String) throws(DiskFailure) -> Bool {
    state.withLock { $0.files[path] != nil || $0.directories.contains(path) }
  }

  package func identity(of path: String) throws(DiskFailure) -> FileIdentity? {
    state.withLock { $0.files[path]?.identity }
  }

  package func rename(_ source: String, to target: String) throws(DiskFailure) {
    try state.withLock { (state) throws(DiskFailure) in
      if state.directories.contains(source) {
        let moved = DirectoryEntry.moves(of: source, to: target, files: state.files, directories: state.directories)
        state.directories.subtract(moved.directories.map(\.source))
        state.directories.formUnion(moved.directories.map(\.target))
        let attributes = moved.directories.map { ($0.target, state.directoryAttributes.removeValue(forKey: $0.source)) }
        for (target, attributes) in attributes { state.directoryAttributes[target] = attributes }
        for move in moved.files { state.files[move.source] = nil }
        for move in moved.files { state.files[move.target] = move.content }
        return
      }
      guard let content = state.files.removeValue(forKey: source) else {
        throw DiskFailure(.rename, path: source, code: ErrorNumber.notFound)
      }
      state.files[target] = content
    }
  }

  package func renameWithoutReplacing(_ source: String, to target: String) throws(DiskFailure) {
    try state.withLock { (state) throws(DiskFailure) in
      try state.give(target, to: source, .rename)
      state.files[source] = nil
    }
  }

  package func remove(_ path: String) throws(DiskFailure) {
    try state.withLock { (state) throws(DiskFailure) in
      guard state.files.removeValue(forKey: path) != nil else {
        throw DiskFailure(.remove, path: path, code: ErrorNumber.notFound)
      }
    }
  }

  package func syncDirectory(holding path: String) throws(DiskFailure) {}

  /// Nothing can be shared here: a clone would copy the memory.
  package func clone(_ source: String, to target: String) throws(DiskFailure) -> Bool { false }

  package func link(_ source: String, to target: String) throws(DiskFailure) {
    try state.withLock { (state) throws(DiskFailure) in
      try state.give(target, to: source, .link)
    }
  }

  package func makeDirectory(_ path: String) throws(DiskFailure) {
    try state.withLock { (state) throws(DiskFailure) in
      guard state.files[path] == nil, state.directories.insert(path).inserted else {
        throw DiskFailure(.makeDirectory, path: path, code: ErrorNumber.exists)
      }
    }
  }

  package func removeDirectory(_ path: String) throws(DiskFailure) {
    try state.withLock { (state) throws(DiskFailure) in
      guard state.directories.contains(path) else {
        throw DiskFailure(.remove, path: path, code: ErrorNumber.notFound)
      }
      guard DirectoryEntry.entries(of: path, files: state.files.keys, directories: state.directories).isEmpty else {
        throw DiskFailure(.remove, path: path, code: ErrorNumber.notEmpty)
      }
      state.directories.remove(path)
      state.directoryAttributes[path] = nil
    }
  }

  package func entries(of directory: String) throws(DiskFailure) -> [DirectoryEntry] {
    try state.withLock { (state) throws(DiskFailure) in
      guard state.directories.contains(directory) else {
        throw DiskFailure(.list, path: directory, code: ErrorNumber.notFound)
      }
      return DirectoryEntry.entries(of: directory, files: state.files.keys, directories: state.directories)
    }
  }
}

/// One open description of a file in memory.
@safe private final class MemoryFile: DiskFile, @unchecked Sendable {
  let path: String
  /// Kept until this object goes, closed or not, so that `base` never leads into other memory.
  private let content: MemoryContent
  private let disk: MemoryDisk
  private let description: Int
  private let isWritable: Bool
  private let isClosed = Atomic<Bool>(false)

  init(disk: MemoryDisk, path: String, content: MemoryContent, description: Int, isWritable: Bool) {
    self.disk = disk
    self.path = path
    self.content = content
    self.description = description
    self.isWritable = isWritable
  }

  deinit { close() }

  var identity: FileIdentity { content.identity }

  var base: UnsafeRawPointer { unsafe UnsafeRawPointer(content.base) }

  func byteCount() throws(DiskFailure) -> Int {
    try locked(.status) { () throws(DiskFailure) in content.byteCount }
  }

  func write(_ bytes: ByteView, at offset: Int) throws(DiskFailure) {
    precondition(offset >= 0, "a file has no bytes before its first")
    try locked(.write) { () throws(DiskFailure) in
      try checkWritable(.write, offset, bytes.count)
      guard content.write(bytes, at: offset) else {
        throw DiskFailure(.write, path: path, code: ErrorNumber.noSpace, offset: offset, byteCount: bytes.count)
      }
    }
  }

  func read(into target: UnsafeMutableRawPointer, count: Int, at offset: Int) throws(DiskFailure) -> Int {
    precondition(offset >= 0 && count >= 0, "a file has no bytes before its first")
    return try locked(.read) { () throws(DiskFailure) in
      // Safe: the caller owns `count` bytes at `target`.
      unsafe content.read(into: target, count: count, at: offset)
    }
  }

  func sync(_ level: SyncLevel) throws(DiskFailure) {
    try locked(.sync) { () throws(DiskFailure) in }
  }

  func truncate(to byteCount: Int) throws(DiskFailure) {
    precondition(byteCount >= 0, "a file has no negative length")
    try locked(.truncate) { () throws(DiskFailure) in
      try checkWritable(.truncate, byteCount, nil)
      guard content.truncate(to: byteCount) else {
        throw DiskFailure(.truncate, path: path, code: ErrorNumber.noSpace, offset: byteCount)
      }
    }
  }

  func copyRange(of source: any DiskFile, at offset: Int, count: Int) throws(DiskFailure) -> Int? { nil }

  /// Does nothing: only this library reaches a file in memory.
  func makeReadOnly() throws(DiskFailure) {}

  func linkCount() throws(DiskFailure) -> Int {
    guard !isClosed.load(ordering: .acquiring) else {
      throw DiskFailure(.status, path: path, kind: .closed, code: ErrorNumber.badDescriptor)
    }
    return disk.state.withLock { state in state.files.values.count { $0 === content } }
  }

  func attributes() throws(DiskFailure) -> FileAttributes {
    try locked(.status) { () throws(DiskFailure) in content.attributes }
  }

  func setAttributes(_ attributes: FileAttributes) throws(DiskFailure) {
    try locked(.protect) { () throws(DiskFailure) in content.attributes = attributes }
  }

  var mappableByteCount: Int { content.inPlaceByteCount }

  func map(upTo end: Int) throws(DiskFailure) {
    try locked(.map) { () throws(DiskFailure) in
      guard end <= content.inPlaceByteCount else {
        throw DiskFailure(.map, path: path, code: ErrorNumber.tooLarge, byteCount: end)
      }
    }
  }

  func tryLock(_ byte: LockByte, _ strength: LockStrength) throws(DiskFailure) -> Bool {
    try locked(.lock) { () throws(DiskFailure) in
      // As in the system, an exclusive lock needs a description that may write.
      if strength == .exclusive { try checkWritable(.lock, byte.rawValue, 1) }
      return content.locks.take(byte, strength, for: description)
    }
  }

  func isLockedByOthers(_ byte: LockByte) throws(DiskFailure) -> Bool {
    try locked(.lock) { () throws(DiskFailure) in content.locks.isHeld(byte, byOthersThan: description) }
  }

  func unlock(_ byte: LockByte) {
    if disk.process != processID() { return }
    disk.state.withLock { _ in content.locks.release(byte, of: description) }
  }

  func close() {
    if isClosed.exchange(true, ordering: .acquiringAndReleasing) || disk.process != processID() { return }
    disk.state.withLock { _ in content.locks.releaseAll(of: description) }
  }

  private func locked<Result>(
    _ operation: DiskFailure.Operation, _ body: () throws(DiskFailure) -> Result
  ) throws(DiskFailure) -> Result {
    guard !isClosed.load(ordering: .acquiring) else {
      throw DiskFailure(operation, path: path, kind: .closed, code: ErrorNumber.badDescriptor)
    }
    return try disk.state.withLock { (_) throws(DiskFailure) in try body() }
  }

  /// The system answers a write through a read-only description the same way.
  private func checkWritable(
    _ operation: DiskFailure.Operation, _ offset: Int, _ byteCount: Int?
  ) throws(DiskFailure) {
    guard isWritable else {
      throw DiskFailure(
        operation, path: path, code: ErrorNumber.badDescriptor, offset: offset, byteCount: byteCount)
    }
  }
}
