/// The disk of one process: calls go to the simulated disk that all share, and before each of them the scheduler decides who
/// goes on.
///
/// A killed process makes no more calls: what it wrote stays in the cache, its locks are released, and its thread unwinds
/// through the errors of a disk that refuses everything. Files have another device number in each process, because locks
/// between opens of one process use the identity of files, and actors represent several processes.
import DaybookEngine

final class ProcessDisk: ForwardingDisk, @unchecked Sendable {
  let disk: SimulatedDisk
  fileprivate let device = MemoryDisk.newDevice()
  private let scheduler: Scheduler
  // Guarded by the baton.
  private(set) var isDead = false
  private var callCount = 0
  private var lastCall = Int.max
  private var faults: [ArmedFault] = []
  private var files: [WeakFile] = []
  /// How many calls failed because a step asked for it.
  private(set) var failureCount = 0
  /// Called after each of them.
  var onFailure: (() -> Void)?
  /// Called when a process maps a file without holding a lock byte: the holder of the lock may cut off what is mapped.
  var onUnprotectedMap: ((String) -> Void)?
  /// Syncs are not carried out, to show that this is noticed.
  var ignoresSyncs = false
  /// Locks are granted to everyone, for the same reason.
  var ignoresLocks = false

  private struct WeakFile {
    weak var file: ProcessFile?
  }

  init(_ disk: SimulatedDisk, scheduler: Scheduler) {
    self.disk = disk
    self.scheduler = scheduler
  }

  /// The process ends at its n-th call from here.
  func die(inCalls count: Int) { lastCall = callCount + count }

  func die() {
    isDead = true
    for entry in files { entry.file?.file.close() }
    files.removeAll()
  }

  func inject(_ fault: SimulatedFault) { faults.append(ArmedFault(fault: fault)) }

  /// Removes pending faults.
  func removeFaults() {
    faults.removeAll()
    lastCall = .max
  }

  // MARK: the way of each call

  fileprivate func pass<R>(
    _ call: SimulatedCall, tear: () -> Void = {}, _ body: () throws(DiskFailure) -> R
  ) throws(DiskFailure) -> R {
    if isDead { throw call.failure(code: ErrorNumber.inputOutput) }
    scheduler.point(call)
    // The power may have failed in the meantime.
    if isDead { throw call.failure(code: ErrorNumber.inputOutput) }
    callCount += 1
    if callCount >= lastCall {
      tear()
      die()
      throw call.failure(code: ErrorNumber.inputOutput)
    }
    var striking: SimulatedFault?
    for index in faults.indices where faults[index].strikes(call) { striking = striking ?? faults[index].fault }
    guard var fault = striking else {
      // A sync covers what was written before it began: threads may write more before it returns.
      defer { if call.operation == .sync { scheduler.point() } }
      return try body()
    }
    failureCount += 1
    // Nobody else makes a call before this one.
    fault.operations = [call.operation]
    fault.call = 1
    fault.repeats = false
    disk.inject(fault)
    defer {
      disk.removeFaults()
      onFailure?()
    }
    return try body()
  }

  fileprivate func identity(_ shared: FileIdentity) -> FileIdentity { FileIdentity(device: device, inode: shared.inode) }

  private func wrapped(_ file: any DiskFile) -> any DiskFile {
    let file = ProcessFile(file, self)
    files.removeAll { $0.file == nil }
    files.append(WeakFile(file: file))
    return file
  }

  func open(_ path: String, _ mode: OpenMode) throws(DiskFailure) -> any DiskFile {
    try pass(SimulatedCall(mode == .createNew ? .create : .open, path)) { () throws(DiskFailure) in
      wrapped(try disk.open(path, mode))
    }
  }
  func create(_ path: String, byteCount: Int) throws(DiskFailure) -> any DiskFile { try open(path, .createNew) }
  func createPrivate(_ path: String, byteCount: Int?) throws(DiskFailure) -> any DiskFile {
    try pass(SimulatedCall(.create, path)) { () throws(DiskFailure) in
      wrapped(try disk.createPrivate(path, byteCount: byteCount))
    }
  }
  func makePrivateDirectory(_ path: String) throws(DiskFailure) {
    try pass(SimulatedCall(.makeDirectory, path)) { () throws(DiskFailure) in try disk.makePrivateDirectory(path) }
  }
  func attributes(of path: String) throws(DiskFailure) -> FileAttributes {
    try pass(SimulatedCall(.status, path)) { () throws(DiskFailure) in try disk.attributes(of: path) }
  }
  func setAttributes(_ attributes: FileAttributes, of path: String) throws(DiskFailure) {
    try pass(SimulatedCall(.protect, path)) { () throws(DiskFailure) in try disk.setAttributes(attributes, of: path) }
  }
  func exists(_ path: String) throws(DiskFailure) -> Bool {
    try pass(SimulatedCall(.status, path)) { () throws(DiskFailure) in try disk.exists(path) }
  }
  func identity(of path: String) throws(DiskFailure) -> FileIdentity? {
    try pass(SimulatedCall(.status, path)) { () throws(DiskFailure) in try disk.identity(of: path).map(identity) }
  }
  func rename(_ source: String, to target: String) throws(DiskFailure) {
    try pass(SimulatedCall(.rename, source)) { () throws(DiskFailure) in try disk.rename(source, to: target) }
  }
  func renameWithoutReplacing(_ source: String, to target: String) throws(DiskFailure) {
    try pass(SimulatedCall(.rename, source)) { () throws(DiskFailure) in
      try disk.renameWithoutReplacing(source, to: target)
    }
  }
  func remove(_ path: String) throws(DiskFailure) {
    try pass(SimulatedCall(.remove, path)) { () throws(DiskFailure) in try disk.remove(path) }
  }
  func link(_ source: String, to target: String) throws(DiskFailure) {
    try pass(SimulatedCall(.link, source)) { () throws(DiskFailure) in try disk.link(source, to: target) }
  }
  func makeDirectory(_ path: String) throws(DiskFailure) {
    try pass(SimulatedCall(.makeDirectory, path)) { () throws(DiskFailure) in try disk.makeDirectory(path) }
  }
  func removeDirectory(_ path: String) throws(DiskFailure) {
    try pass(SimulatedCall(.remove, path)) { () throws(DiskFailure) in try disk.removeDirectory(path) }
  }
  func entries(of directory: String) throws(DiskFailure) -> [DirectoryEntry] {
    try pass(SimulatedCall(.list, directory)) { () throws(DiskFailure) in try disk.entries(of: directory) }
  }
  func entriesBehindNoLink(of directory: String) throws(DiskFailure) -> [DirectoryEntry] {
    try pass(SimulatedCall(.list, directory)) { () throws(DiskFailure) in
      try disk.entriesBehindNoLink(of: directory)
    }
  }
  func syncDirectory(holding path: String) throws(DiskFailure) {
    try pass(SimulatedCall(.syncDirectory, path)) { () throws(DiskFailure) in
      if !ignoresSyncs { try disk.syncDirectory(holding: path) }
    }
  }
}

/// One open description of such a process.
@safe private final class ProcessFile: ForwardingFile, @unchecked Sendable {
  let file: any DiskFile
  private let disk: ProcessDisk
  private var lockedBytes: Set<LockByte> = []

  init(_ file: any DiskFile, _ disk: ProcessDisk) {
    self.file = file
    self.disk = disk
  }

  var identity: FileIdentity { disk.identity(file.identity) }

  func byteCount() throws(DiskFailure) -> Int {
    try disk.pass(SimulatedCall(.status, path)) { () throws(DiskFailure) in try file.byteCount() }
  }
  func write(_ bytes: ByteView, at offset: Int) throws(DiskFailure) {
    let call = SimulatedCall(.write, path, offset: offset, byteCount: bytes.count)
    // A killed process may leave half of its last write.
    try disk.pass(call, tear: { try? file.write(bytes.prefix(bytes.count / 2), at: offset) }) { () throws(DiskFailure) in
      try file.write(bytes, at: offset)
    }
  }
  func read(into target: UnsafeMutableRawPointer, count: Int, at offset: Int) throws(DiskFailure) -> Int {
    // Safe: the caller's word, handed on within this call.
    let address = UInt(bitPattern: target)
    return try disk.pass(SimulatedCall(.read, path, offset: offset, byteCount: count)) { () throws(DiskFailure) in
      guard let target = unsafe UnsafeMutableRawPointer(bitPattern: address) else { return 0 }
      return unsafe try file.read(into: target, count: count, at: offset)
    }
  }
  func sync(_ level: SyncLevel) throws(DiskFailure) {
    try disk.pass(SimulatedCall(.sync, path)) { () throws(DiskFailure) in
      if !disk.ignoresSyncs { try file.sync(level) }
    }
  }
  func truncate(to byteCount: Int) throws(DiskFailure) {
    try disk.pass(SimulatedCall(.truncate, path, offset: byteCount)) { () throws(DiskFailure) in
      try file.truncate(to: byteCount)
    }
  }
  func makeReadOnly() throws(DiskFailure) {
    try disk.pass(SimulatedCall(.protect, path)) { () throws(DiskFailure) in try file.makeReadOnly() }
  }
  func attributes() throws(DiskFailure) -> FileAttributes {
    try disk.pass(SimulatedCall(.status, path)) { () throws(DiskFailure) in try file.attributes() }
  }
  func setAttributes(_ attributes: FileAttributes) throws(DiskFailure) {
    try disk.pass(SimulatedCall(.protect, path)) { () throws(DiskFailure) in try file.setAttributes(attributes) }
  }
  func map(upTo end: Int) throws(DiskFailure) {
    if lockedBytes.isEmpty { disk.onUnprotectedMap?(path) }
    try disk.pass(SimulatedCall(.map, path, byteCount: end)) { () throws(DiskFailure) in try file.map(upTo: end) }
  }
  func tryLock(_ byte: LockByte, _ strength: LockStrength) throws(DiskFailure) -> Bool {
    try disk.pass(SimulatedCall(.lock, path, offset: byte.rawValue, byteCount: 1)) { () throws(DiskFailure) in
      let isTaken = try file.tryLock(byte, strength)
      if isTaken || disk.ignoresLocks { lockedBytes.insert(byte) }
      return disk.ignoresLocks || isTaken
    }
  }
  func isLockedByOthers(_ byte: LockByte) throws(DiskFailure) -> Bool {
    try disk.pass(SimulatedCall(.lock, path, offset: byte.rawValue, byteCount: 1)) { () throws(DiskFailure) in
      try file.isLockedByOthers(byte)
    }
  }
  func unlock(_ byte: LockByte) {
    lockedBytes.remove(byte)
    file.unlock(byte)
  }
}
