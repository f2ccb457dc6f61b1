/// One open description of a simulated file. The file's bytes are `SimulatedContent`'s; here are the calls.
///
/// Always true: a write-back error is reported once to each description that was open when it happened, as Linux does.
import DaybookEngine
import Synchronization

@safe final class SimulatedFile: DiskFile, @unchecked Sendable {
  let path: String
  /// Kept until the object goes, closed or not, so that `base` never leads into memory of somebody else.
  private let content: SimulatedContent
  private let disk: SimulatedDisk
  private let description: Int
  private let isWritable: Bool
  private let isClosed = Atomic<Bool>(false)
  /// Guarded by the disk's lock.
  private var seenErrorCount: Int

  /// Made under the disk's lock.
  init(disk: SimulatedDisk, path: String, content: SimulatedContent, description: Int, isWritable: Bool) {
    self.disk = disk
    self.path = path
    self.content = content
    self.description = description
    self.isWritable = isWritable
    seenErrorCount = content.writeBackErrorCount
  }

  deinit { close() }

  var identity: FileIdentity { content.identity }

  // Safe: reads through it end before the file is dropped, as with any disk.
  var base: UnsafeRawPointer { unsafe UnsafeRawPointer(content.memory.base) }

  var mappableByteCount: Int { content.capacity }

  func byteCount() throws(DiskFailure) -> Int {
    try perform(SimulatedCall(.status, path)) { (_) throws(DiskFailure) in content.byteCount }
  }

  func write(_ bytes: ByteView, at offset: Int) throws(DiskFailure) {
    precondition(offset >= 0, "a file has no bytes before its first")
    let call = SimulatedCall(.write, path, offset: offset, byteCount: bytes.count)
    try perform(
      call,
      onFailure: { (state, effect) in
        let leavesPart =
          switch effect {
          case .stopped(let tearsWrite): tearsWrite
          case .failed(let fault): fault.leavesPartOfWrite
          }
        guard leavesPart, isWritable else { return 0 }
        let fitting = fittingByteCount(of: bytes, at: offset, state)
        let done = Int.random(in: 0...fitting, using: &state.generator)
        content.write(bytes.prefix(done), at: offset)
        return done
      },
      { (state) throws(DiskFailure) in
        try checkWritable(call)
        let fitting = fittingByteCount(of: bytes, at: offset, state)
        if state.cutsTransfers {
          try transfer(fitting, call, &state) { done, count in
            content.write(bytes.dropFirst(done).prefix(count), at: offset + done)
          }
        } else {
          content.write(bytes.prefix(fitting), at: offset)
        }
        lie(about: bytes.prefix(fitting), at: offset, call, &state)
        guard fitting == bytes.count else { throw call.failure(code: ErrorNumber.noSpace, after: fitting) }
      })
  }

  /// The loop of real files around calls that take less than asked for, or are interrupted.
  private func transfer(
    _ byteCount: Int, _ call: SimulatedCall, _ state: inout SimulatedDisk.State, _ move: (_ done: Int, _ count: Int) -> Void
  ) throws(DiskFailure) {
    do throws(Transfer.Failure) {
      try Transfer.all(byteCount: byteCount) { (done) throws(SystemError) in
        if Int.random(in: 0..<4, using: &state.generator) == 0 { throw SystemError(code: ErrorNumber.interrupted) }
        let count = Int.random(in: 1...byteCount - done, using: &state.generator)
        move(done, count)
        return count
      }
    } catch { throw call.failure(code: error.code) }
  }

  private func lie(about bytes: ByteView, at offset: Int, _ call: SimulatedCall, _ state: inout SimulatedDisk.State) {
    for index in state.lies.indices where state.lies[index].strikes(call) {
      content.lose(offset..<offset + bytes.count)
      if case .misdirects(let sectorCount) = state.lies[index].lie.kind {
        let target = offset + sectorCount * disk.sectorByteCount
        if target >= 0 { content.overwriteSilently(bytes, at: target) }
      }
    }
  }

  /// How much of a write finds room. Only growth needs any, unless the disk copies on write.
  private func fittingByteCount(of bytes: ByteView, at offset: Int, _ state: SimulatedDisk.State) -> Int {
    var fitting = min(bytes.count, max(0, content.capacity - offset))
    if state.copiesOnWrite, let free = state.freeByteCount { return min(fitting, free) }
    let growth = offset + fitting - content.byteCount
    if growth > 0, let free = state.freeByteCount, growth > free { fitting = max(0, fitting - (growth - free)) }
    return fitting
  }

  func read(into target: UnsafeMutableRawPointer, count: Int, at offset: Int) throws(DiskFailure) -> Int {
    precondition(offset >= 0 && count >= 0, "a file has no bytes before its first")
    // Safe: the caller owns `count` bytes at `target`, for the length of this call.
    let address = UInt(bitPattern: target)
    let call = SimulatedCall(.read, path, offset: offset, byteCount: count)
    return try perform(call) { (state) throws(DiskFailure) in
      guard let target = unsafe UnsafeMutableRawPointer(bitPattern: address) else { return 0 }
      if state.cutsTransfers {
        let there = min(count, max(0, content.byteCount - offset))
        try transfer(there, call, &state) { done, count in
          // Safe: `done + count` is at most what the caller has room for.
          _ = unsafe content.read(into: target + done, count: count, at: offset + done)
        }
        return there
      }
      return unsafe content.read(into: target, count: count, at: offset)
    }
  }

  func sync(_ level: SyncLevel) throws(DiskFailure) {
    let call = SimulatedCall(.sync, path)
    try perform(
      call,
      onFailure: { (state, effect) in
        guard case .failed(let fault) = effect else { return 0 }
        let tells = fault.tellsEveryDescription
        content.failSync(losingPages: fault.syncLoss == .dropsPages, tellsEveryDescription: tells, &state.generator)
        // This very call reports the error to this description.
        if tells { seenErrorCount = content.writeBackErrorCount }
        return 0
      },
      { (state) throws(DiskFailure) in
        if state.ignoresSyncs { return }
        let hasUnseenError = seenErrorCount != content.writeBackErrorCount
        content.sync()
        seenErrorCount = content.writeBackErrorCount
        if hasUnseenError { throw call.failure(code: ErrorNumber.inputOutput) }
      })
  }

  func truncate(to byteCount: Int) throws(DiskFailure) {
    precondition(byteCount >= 0, "a file has no negative length")
    let call = SimulatedCall(.truncate, path, offset: byteCount)
    try perform(call) { (_) throws(DiskFailure) in
      try checkWritable(call)
      guard byteCount <= content.capacity else { throw call.failure(code: ErrorNumber.noSpace) }
      content.truncate(to: byteCount)
    }
  }

  func copyRange(of source: any DiskFile, at offset: Int, count: Int) throws(DiskFailure) -> Int? { nil }

  /// Not simulated: the library never writes to a file that it has protected.
  func makeReadOnly() throws(DiskFailure) {
    try perform(SimulatedCall(.protect, path)) { (_) throws(DiskFailure) in }
  }

  func linkCount() throws(DiskFailure) -> Int {
    try perform(SimulatedCall(.status, path)) { (state) throws(DiskFailure) in state.names.values.count { $0 === content } }
  }

  func attributes() throws(DiskFailure) -> FileAttributes {
    try perform(SimulatedCall(.status, path)) { (_) throws(DiskFailure) in content.attributes }
  }

  func setAttributes(_ attributes: FileAttributes) throws(DiskFailure) {
    try perform(SimulatedCall(.protect, path)) { (_) throws(DiskFailure) in content.attributes = attributes }
  }

  /// Stricter than a real disk, which would crash the process at the first touch behind the end instead.
  func map(upTo end: Int) throws(DiskFailure) {
    let call = SimulatedCall(.map, path, byteCount: end)
    try perform(call) { (_) throws(DiskFailure) in
      guard end <= content.byteCount else { throw call.failure(code: ErrorNumber.invalid) }
    }
  }

  func tryLock(_ byte: LockByte, _ strength: LockStrength) throws(DiskFailure) -> Bool {
    let call = SimulatedCall(.lock, path, offset: byte.rawValue, byteCount: 1)
    return try perform(call) { (_) throws(DiskFailure) in
      guard strength == .shared || isWritable else { throw call.failure(code: ErrorNumber.badDescriptor) }
      return content.locks.take(byte, strength, for: description)
    }
  }

  func isLockedByOthers(_ byte: LockByte) throws(DiskFailure) -> Bool {
    try perform(SimulatedCall(.lock, path, offset: byte.rawValue, byteCount: 1)) { (_) throws(DiskFailure) in
      content.locks.isHeld(byte, byOthersThan: description)
    }
  }

  func unlock(_ byte: LockByte) {
    disk.state.withLock { _ in content.locks.release(byte, of: description) }
  }

  func close() {
    if isClosed.exchange(true, ordering: .acquiringAndReleasing) { return }
    disk.state.withLock { _ in content.locks.releaseAll(of: description) }
  }

  private func perform<Result: Sendable>(
    _ call: SimulatedCall,
    onFailure: (inout SimulatedDisk.State, FailureEffect) -> Int = { _, _ in 0 },
    _ body: (inout SimulatedDisk.State) throws(DiskFailure) -> Result
  ) throws(DiskFailure) -> Result {
    guard !isClosed.load(ordering: .acquiring) else {
      throw DiskFailure(call.operation, path: path, kind: .closed, code: ErrorNumber.badDescriptor)
    }
    return try disk.perform(call, onFailure: onFailure, body)
  }

  /// The system answers a change through a read-only description the same way.
  private func checkWritable(_ call: SimulatedCall) throws(DiskFailure) {
    guard isWritable else { throw call.failure(code: ErrorNumber.badDescriptor) }
  }
}
