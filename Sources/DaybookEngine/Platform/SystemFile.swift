/// One open description of a file of the operating system, with its mapping and its locks.
///
///     reserved once, up to 1 TB (`AddressSpace`), never moves
///     ┌──────────────────┬──────────────────┬╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌┐
///     │ 64 MB of the file│ 64 MB of the file│ nothing: a touch would crash ┆
///     └──────────────────┴──────────────────┴╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌┘
///     base                          ↑ the last piece may reach past the end of the file
///
/// Address space is reserved at the first use of `base` or `map`: a description that only syncs needs none.
///
/// Always true: the descriptor is not closed while a call uses it. `close` does not wait for a `write` under way; the last call
/// to leave closes. So a descriptor number that was reused can never receive our bytes.
import Synchronization

@safe package final class SystemFile: DiskFile, @unchecked Sendable {
  package let path: String
  package let identity: FileIdentity
  private let descriptor: Atomic<Int32>
  private let process = processID()
  private let hasLocked = Atomic<Bool>(false)
  /// How many calls are using the descriptor, plus `closedBit` once `close` was called.
  private let users = Atomic<Int>(0)
  private let mapping = Locked(Mapping())
  /// The address of `base`, 0 while nothing is reserved. Written with the lock of `mapping`, read without.
  private let baseAddress = Atomic<UInt>(0)
  /// How many bytes from `base` are mapped. Written with the lock of `mapping`, read without.
  private let mappedByteCount = Atomic<Int>(0)

  private struct Mapping {
    var reservedByteCount = 0
    var isGivenBack = false
  }

  private static let closedBit = 1 << 62
  static let pieceByteCount = 64 << 20
  /// How much of a file without a name is freed at a time. Syncs of another file took 45 ms while 600 MB were freed at once, 2
  /// ms with pieces of 4 MB, and 0.3 ms with these (ext4 with discard).
  private static let emptiedByteCount = 512 << 10
  /// Means that the system refused; no mapping starts there.
  private static let refusedAddress: UInt = 1

  init(path: String, descriptor: Int32, identity: FileIdentity) {
    self.path = path
    self.identity = identity
    self.descriptor = Atomic(descriptor)
  }

  deinit { close() }

  /// Takes over the descriptor. Anything but a regular file is refused with ELOOP.
  static func take(_ descriptor: Int32, _ path: String) throws(SystemError) -> SystemFile {
    do throws(SystemError) {
      let status = try SystemCall.status(descriptor)
      guard status.isRegular else { throw SystemError(code: ErrorNumber.tooManyLinks) }
      return SystemFile(path: path, descriptor: descriptor, identity: status.identity)
    } catch {
      SystemCall.close(descriptor)
      throw error
    }
  }

  // MARK: Bytes

  func status() throws(DiskFailure) -> FileStatus {
    try perform(.status) { (descriptor) throws(SystemError) in try SystemCall.status(descriptor) }
  }

  package func byteCount() throws(DiskFailure) -> Int { try status().byteCount }

  package func write(_ bytes: ByteView, at offset: Int) throws(DiskFailure) {
    precondition(offset >= 0, "a file has no bytes before its first")
    let descriptor = try enter(.write)
    defer { leave() }
    do throws(Transfer.Failure) {
      try Transfer.all(byteCount: bytes.count) { (done) throws(SystemError) in
        // Safe: the view is valid for the length of this call.
        try unsafe SystemCall.write(bytes.dropFirst(done).buffer, to: descriptor, at: offset + done)
      }
    } catch {
      throw DiskFailure(
        .write, path: path, code: error.code, offset: offset + error.doneByteCount,
        byteCount: bytes.count - error.doneByteCount)
    }
  }

  package func read(into target: UnsafeMutableRawPointer, count: Int, at offset: Int) throws(DiskFailure) -> Int {
    precondition(offset >= 0 && count >= 0, "a file has no bytes before its first")
    let descriptor = try enter(.read)
    defer { leave() }
    do throws(Transfer.Failure) {
      return try Transfer.all(byteCount: count, endsAtZero: true) { (done) throws(SystemError) in
        // Safe: the caller owns `count` bytes at `target`; `done` of them are filled.
        try unsafe SystemCall.read(into: target + done, count: count - done, from: descriptor, at: offset + done)
      }
    } catch {
      throw DiskFailure(
        .read, path: path, code: error.code, offset: offset + error.doneByteCount,
        byteCount: count - error.doneByteCount)
    }
  }

  package func contentStart(from offset: Int) -> Int {
    guard let descriptor = try? enter(.status) else { return offset }
    defer { leave() }
    return SystemCall.contentStart(descriptor, from: offset)
  }

  package func sync(_ level: SyncLevel) throws(DiskFailure) {
    try perform(.sync) { (descriptor) throws(SystemError) in try SystemCall.sync(descriptor, level) }
  }

  package func beginWriteBack(_ range: Range<Int>) {
    guard let descriptor = try? enter(.sync) else { return }
    defer { leave() }
    SystemCall.beginWriteBack(descriptor, range)
  }

  package func truncate(to byteCount: Int) throws(DiskFailure) {
    precondition(byteCount >= 0, "a file has no negative length")
    let descriptor = try enter(.truncate)
    defer { leave() }
    do { try SystemCall.truncate(descriptor, to: byteCount) } catch {
      throw DiskFailure(.truncate, path: path, code: error.code, offset: byteCount)
    }
  }

  package func copyRange(of source: any DiskFile, at offset: Int, count: Int) throws(DiskFailure) -> Int? {
    guard let source = source as? SystemFile else { return nil }
    let target = try enter(.write)
    defer { leave() }
    let origin = try source.enter(.read)
    defer { source.leave() }
    do throws(SystemError) {
      return try SystemCall.copyRange(from: origin, to: target, at: offset, count: count)
    } catch {
      throw DiskFailure(.write, path: path, code: error.code, offset: offset, byteCount: count)
    }
  }

  /// Makes a name in an open directory a copy that shares the blocks; false where that is impossible.
  func clone(to folder: Int32, _ name: String, _ target: String) throws(DiskFailure) -> Bool {
    let descriptor = try enter(.read)
    defer { leave() }
    do { return try SystemCall.clone(descriptor, in: folder, to: name) } catch {
      throw DiskFailure(.create, path: target, code: error.code)
    }
  }

  package func makeReadOnly() throws(DiskFailure) {
    try perform(.protect) { (descriptor) throws(SystemError) in try SystemCall.makeReadOnly(descriptor) }
  }

  package func linkCount() throws(DiskFailure) -> Int { try status().linkCount }

  package func attributes() throws(DiskFailure) -> FileAttributes {
    try perform(.status) { (descriptor) throws(SystemError) in try SystemCall.attributes(descriptor) }
  }

  package func setAttributes(_ attributes: FileAttributes) throws(DiskFailure) {
    try perform(.protect) { (descriptor) throws(SystemError) in try SystemCall.setAttributes(attributes, of: descriptor) }
  }

  // MARK: Mapping

  package var base: UnsafeRawPointer {
    var address = baseAddress.load(ordering: .acquiring)
    if address == 0 { address = mapping.withLock { reserve(&$0) } }
    // Safe: neither address that `reserve` returns is zero. Nothing may be read through it before `map` succeeded.
    return unsafe UnsafeRawPointer(bitPattern: address).unsafelyUnwrapped
  }

  package var mappableByteCount: Int {
    mapping.withLock { mapping in
      _ = reserve(&mapping)
      return mapping.reservedByteCount
    }
  }

  package func map(upTo end: Int) throws(DiskFailure) {
    if end <= mappedByteCount.load(ordering: .acquiring) { return }
    let descriptor = try enter(.map)
    defer { leave() }
    try mapping.withLock { (mapping) throws(DiskFailure) in
      let start = mappedByteCount.load(ordering: .relaxed)
      if end <= start { return }
      let address = reserve(&mapping)
      guard end <= mapping.reservedByteCount else {
        let code = mapping.reservedByteCount == 0 ? ErrorNumber.noMemory : ErrorNumber.tooLarge
        throw DiskFailure(.map, path: path, code: code, offset: start, byteCount: end - start)
      }
      let mappedEnd = SystemFile.wholePieces(end)
      do throws(SystemError) {
        // Safe: the range lies inside what `reserve` was granted, whose size is a multiple of a piece.
        let target = unsafe UnsafeMutableRawPointer(bitPattern: address + UInt(start)).unsafelyUnwrapped
        try unsafe SystemCall.mapFile(descriptor, at: target, byteCount: mappedEnd - start, offset: start)
      } catch {
        throw DiskFailure(.map, path: path, code: error.code, offset: start, byteCount: mappedEnd - start)
      }
      mappedByteCount.store(mappedEnd, ordering: .releasing)
    }
  }

  /// The length rounded up to whole pieces. A file may claim a length near the largest number; that is rounded down.
  static func wholePieces(_ byteCount: Int) -> Int {
    let largest = Int.max / pieceByteCount * pieceByteCount
    return byteCount > largest ? largest : (byteCount + pieceByteCount - 1) / pieceByteCount * pieceByteCount
  }

  /// Reserves once. A refusal is final, too, because `base` must not change.
  private func reserve(_ mapping: inout Mapping) -> UInt {
    let known = baseAddress.load(ordering: .relaxed)
    if known != 0 { return known }
    var address = SystemFile.refusedAddress
    // After the descriptor is closed, nobody would release a new reservation.
    if !mapping.isGivenBack {
      let known = try? SystemCall.status(descriptor.load(ordering: .relaxed)).byteCount
      let least = SystemFile.wholePieces(max(1, known ?? 1))
      let most = SystemFile.wholePieces(AddressSpace.reservation(forFileOf: known ?? 0))
      let granted = unsafe AddressSpace.take(upTo: most, least: least, unit: SystemFile.pieceByteCount) {
        unsafe SystemCall.reserveAddresses(byteCount: $0)
      }
      if let granted = unsafe granted {
        address = unsafe UInt(bitPattern: granted.base)
        mapping.reservedByteCount = unsafe granted.byteCount
      }
    }
    baseAddress.store(address, ordering: .releasing)
    return address
  }

  // MARK: Locks

  package func tryLock(_ byte: LockByte, _ strength: LockStrength) throws(DiskFailure) -> Bool {
    let descriptor = try enter(.lock)
    defer { leave() }
    do {
      guard try SystemCall.lock(descriptor, byte, .take(strength)) else { return false }
      hasLocked.store(true, ordering: .relaxed)
      return true
    } catch {
      throw DiskFailure(.lock, path: path, code: error.code, offset: byte.rawValue, byteCount: 1)
    }
  }

  package func isLockedByOthers(_ byte: LockByte) throws(DiskFailure) -> Bool {
    let descriptor = try enter(.lock)
    defer { leave() }
    do { return try SystemCall.isLockedByOthers(descriptor, byte) } catch {
      throw DiskFailure(.lock, path: path, code: error.code, offset: byte.rawValue, byteCount: 1)
    }
  }

  package func unlock(_ byte: LockByte) {
    // A child after `fork` shares the description: it would release its parent's lock.
    guard process == processID() else { return }
    // A closed description has no locks left, and releasing a lock that is held does not fail.
    guard let descriptor = try? enter(.lock) else { return }
    defer { leave() }
    _ = try? SystemCall.lock(descriptor, byte, .release)
  }

  // MARK: The descriptor's life

  package func close() {
    let before = users.bitwiseOr(SystemFile.closedBit, ordering: .acquiringAndReleasing).oldValue
    if before == 0 { giveBack() }
  }

  package func closeRemoved(_ goesOn: () -> Bool) {
    empty(goesOn)
    close()
  }

  /// Truncates the file piece by piece. If that fails, `close` frees the rest at once.
  private func empty(_ goesOn: () -> Bool) {
    guard let descriptor = try? enter(.truncate) else { return }
    defer { leave() }
    unmap()
    guard SystemCall.isLastOfRemovedFile(descriptor), let status = try? SystemCall.status(descriptor) else { return }
    var rest = status.byteCount
    // Of a file that is mostly holes a piece is as much longer as it holds less.
    let (piece, isTooMuch) = SystemFile.emptiedByteCount.multipliedReportingOverflow(
      by: max(1, rest / max(1, status.allocatedByteCount)))
    while rest > 0, goesOn() {
      rest = isTooMuch ? 0 : max(0, rest - piece)
      do { try SystemCall.truncate(descriptor, to: rest) } catch { return }
    }
  }

  /// Makes a call of the system with the descriptor, which stays open meanwhile.
  @inline(__always)
  private func perform<Result>(
    _ operation: DiskFailure.Operation, _ call: (Int32) throws(SystemError) -> Result
  ) throws(DiskFailure) -> Result {
    let descriptor = try enter(operation)
    defer { leave() }
    return try DiskFailure.calling(operation, path) { () throws(SystemError) in try call(descriptor) }
  }

  /// The descriptor. It stays open until `leave`.
  private func enter(_ operation: DiskFailure.Operation) throws(DiskFailure) -> Int32 {
    let users = users.add(1, ordering: .acquiringAndReleasing).newValue
    if users & SystemFile.closedBit != 0 {
      leave()
      throw DiskFailure(operation, path: path, kind: .closed, code: ErrorNumber.badDescriptor)
    }
    return descriptor.load(ordering: .relaxed)
  }

  private func leave() {
    if users.subtract(1, ordering: .acquiringAndReleasing).newValue == SystemFile.closedBit { giveBack() }
  }

  /// Runs when the file is closed and no call is under way. A late call that is refused may run it again.
  private func giveBack() {
    let descriptor = descriptor.exchange(-1, ordering: .acquiringAndReleasing)
    guard descriptor >= 0 else { return }
    unmap()
    // A child after `fork` may keep the description alive, and its locks with it: closing alone would not release them.
    if hasLocked.load(ordering: .relaxed), process == processID() {
      for byte in [LockByte.writer, .readers, .waiting] { _ = try? SystemCall.lock(descriptor, byte, .release) }
    }
    SystemCall.close(descriptor)
  }

  private func unmap() {
    // A thread of the parent may have been mapping at the fork. The child's copy of the mapping goes with the child.
    if process != processID() { return }
    mapping.withLock { mapping in
      mapping.isGivenBack = true
      guard mapping.reservedByteCount > 0 else { return }
      let address = baseAddress.load(ordering: .relaxed)
      // Safe: reserved here with this size. The caller of `close` has ended all reads through `base`.
      let base = unsafe UnsafeMutableRawPointer(bitPattern: address).unsafelyUnwrapped
      unsafe AddressSpace.giveBack(base, byteCount: mapping.reservedByteCount)
      mapping.reservedByteCount = 0
      mappedByteCount.store(0, ordering: .releasing)
    }
  }
}
