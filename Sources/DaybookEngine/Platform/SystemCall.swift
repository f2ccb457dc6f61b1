/// The operating system's calls, each under one small function, Linux and Darwin side by side.
///
/// Nothing here decides anything: a function makes one call and hands back its result, or the errno of its failure.
/// The choice between platforms is made inside these functions and nowhere else. POSIX record locks are not here on
/// purpose: closing any descriptor of a file drops them all.

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

enum SystemCall {
  /// The most that one `pwrite` or `pread` is asked to move: Darwin refuses 2 GB and more, Linux cuts them short.
  static let largestTransferByteCount = 1 << 30

  // MARK: Names

  static func open(_ path: String, _ mode: OpenMode, rights: UInt32 = 0o644) throws(SystemError) -> Int32 {
    // O_NONBLOCK: if the name is a pipe, do not wait for its other end. It has no effect on a regular file.
    let flags =
      switch mode {
      case .readOnly: O_RDONLY | O_NONBLOCK | O_NOCTTY
      case .readWrite: O_RDWR | O_NONBLOCK | O_NOCTTY
      case .createNew: O_RDWR | O_CREAT | O_EXCL
      case .readContent: O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW
      }
    return try openDescriptor(path, flags, rights: rights)
  }

  /// Opens through links, without waiting for the other end of a pipe, and without taking a terminal as our own.
  static func openSource(_ path: String) throws(SystemError) -> Int32 {
    try openDescriptor(path, O_RDONLY | O_NONBLOCK | O_NOCTTY)
  }

  static func openDescriptor(
    _ path: String, _ flags: Int32, rights: UInt32 = 0o644
  ) throws(SystemError) -> Int32 {
    try check(path)
    while true {
      // Safe: the path is a C string for the length of the call; the same holds for every path below.
      let descriptor = unsafe libraryOpen(path, flags | O_CLOEXEC, mode_t(rights))
      if descriptor >= 0 { return try raised(descriptor) }
      guard errno == EINTR else { throw .last }
    }
  }

  /// The same open file under a number above standard error's. Where standard error is closed, a new file would get its number,
  /// and the next error message of the program would be written into the file.
  static func raised(_ descriptor: Int32) throws(SystemError) -> Int32 {
    if descriptor > STDERR_FILENO || isMutant("standard-descriptor") { return descriptor }
    defer { close(descriptor) }
    return try duplicate(descriptor)
  }

  /// One more descriptor of an open file, above standard error's.
  static func duplicate(_ descriptor: Int32) throws(SystemError) -> Int32 {
    let duplicate = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
    guard duplicate >= 0 else { throw .last }
    return duplicate
  }

  /// The absolute path without symbolic links. EILSEQ when it is not UTF-8.
  static func canonical(_ path: String) throws(SystemError) -> String {
    // Safe: the system allocates the path, and it is given back at once.
    guard let bytes = unsafe realpath(path, nil) else { throw .last }
    defer { unsafe free(bytes) }
    guard let resolved = unsafe String(validatingCString: bytes) else { throw SystemError(code: EILSEQ) }
    return resolved
  }

  /// A path without links, as the volume spells its last name. Only Darwin tells.
  static func spelled(_ path: String) -> String {
    #if canImport(Darwin)
      return (try? canonical(path)) ?? path
    #else
      return path
    #endif
  }

  static func status(_ path: String) throws(SystemError) -> FileStatus {
    try check(path)
    var status = stat()
    guard unsafe stat(path, &status) == 0 else { throw .last }
    return FileStatus(status)
  }

  static func status(_ descriptor: Int32) throws(SystemError) -> FileStatus {
    var status = stat()
    // Safe: the structure outlives the call.
    guard unsafe fstat(descriptor, &status) == 0 else { throw .last }
    return FileStatus(status)
  }

  static func rename(_ source: String, to target: String) throws(SystemError) {
    try check(source)
    try check(target)
    guard unsafe libraryRename(source, target) == 0 else { throw .last }
  }

  /// How a file gets a name that must not be taken.
  enum RenameWay: CaseIterable {
    /// One system call, which some volumes do not support.
    case atOnce
    /// A second name, which `link` makes only if it is free; then the first name is removed. A crash in between leaves both.
    case byLink
    /// Where there are no hard links: an empty file takes the name, and the file replaces it. A crash in between leaves the
    /// empty file, and anything that another program writes into it in that moment is lost.
    case byClaim
  }

  /// EEXIST when the target exists.
  static func renameWithoutReplacing(_ source: String, to target: String) throws(SystemError) {
    for way in RenameWay.allCases where try renameWithoutReplacing(source, to: target, way) { return }
  }

  /// False where the system or the volume cannot do it this way; then nothing has happened.
  static func renameWithoutReplacing(
    _ source: String, to target: String, _ way: RenameWay
  ) throws(SystemError) -> Bool {
    try check(source)
    try check(target)
    switch way {
    case .atOnce:
      guard let code = unsafe renameNoReplace(AT_FDCWD, source, AT_FDCWD, target) else { return false }
      if code == 0 { return true }
      guard code == EINVAL || code == ENOSYS || code == ENOTSUP || code == EOPNOTSUPP else { throw SystemError(code: code) }
      return false
    case .byLink:
      do { try link(source, to: target) } catch {
        guard isRefusal(error.code) || error.code == EMLINK else { throw error }
        return false
      }
      try unlink(source)
    case .byClaim:
      close(try openDescriptor(target, O_WRONLY | O_CREAT | O_EXCL, rights: 0o600))
      do { try rename(source, to: target) } catch {
        try? unlink(target)
        throw error
      }
    }
    return true
  }

  /// One call that only takes a free name: zero, or the errno of its failure; nil where the library lacks it.
  static func renameNoReplace(
    _ folder: Int32, _ name: UnsafePointer<CChar>, _ target: Int32, _ newName: UnsafePointer<CChar>
  ) -> Int32? {
    #if canImport(Darwin)
      // Safe: the caller's C strings are valid for the length of the call.
      return unsafe renameatx_np(folder, name, target, newName, UInt32(RENAME_EXCL)) == 0 ? 0 : errno
    #else
      guard let call = unsafe renameAt2 else { return nil }
      // Safe: as above. RENAME_NOREPLACE, which is 1, is not imported.
      return unsafe call(folder, name, target, newName, 1) == 0 ? 0 : errno
    #endif
  }

  static func unlink(_ path: String) throws(SystemError) {
    try check(path)
    guard unsafe libraryUnlink(path) == 0 else { throw .last }
  }

  /// A zero byte would silently end the path for C, and another file would be opened.
  static func check(_ path: String) throws(SystemError) {
    guard !path.utf8.contains(0) else { throw SystemError(code: EINVAL) }
  }

  // MARK: Bytes

  /// One `pwrite`; returns how many bytes it wrote. `Transfer` handles short writes and interruptions.
  static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32, at offset: Int) throws(SystemError) -> Int {
    let count = min(bytes.count, largestTransferByteCount)
    // Safe: `count` lies within the buffer.
    let written = unsafe pwrite(descriptor, bytes.baseAddress, count, off_t(offset))
    guard written >= 0 else { throw .last }
    return written
  }

  /// One `pread`; zero at the end of the file.
  static func read(
    into target: UnsafeMutableRawPointer, count: Int, from descriptor: Int32, at offset: Int
  ) throws(SystemError) -> Int {
    // Safe: the caller owns `count` bytes at `target`, and no more than that is asked for.
    let received = unsafe pread(descriptor, target, min(count, largestTransferByteCount), off_t(offset))
    guard received >= 0 else { throw .last }
    return received
  }

  /// The first byte from `offset` on that is not in a hole; `Int.max` when there is none, `offset` where the file system does
  /// not tell.
  static func contentStart(_ descriptor: Int32, from offset: Int) -> Int {
    #if canImport(Darwin)
      let seekData: Int32 = 4  // SEEK_DATA
    #else
      let seekData: Int32 = 3  // SEEK_DATA; the constant is shown to GNU programs only
    #endif
    // Reads and writes name their places, so where the description stands means nothing.
    let found = lseek(descriptor, off_t(offset), seekData)
    if found >= 0 { return max(offset, Int(found)) }
    return errno == ENXIO ? .max : offset
  }

  static func truncate(_ descriptor: Int32, to byteCount: Int) throws(SystemError) {
    while ftruncate(descriptor, off_t(byteCount)) != 0 {
      guard errno == EINTR else { throw .last }
    }
  }

  /// Never repeated, not even after an interruption: the kernel reports a write-back error once, and a second call might
  /// succeed for bytes that never reached the disk.
  static func sync(_ descriptor: Int32, _ level: SyncLevel) throws(SystemError) {
    #if canImport(Darwin)
      // File systems other than APFS and HFS+ may support neither command; then `fsync` is the best there is.
      let command = level == .full ? F_FULLFSYNC : F_BARRIERFSYNC
      if fcntl(descriptor, command) != -1 { return }
      guard ErrorNumber.meansUnknownCommand(errno) else { throw .last }
      guard fsync(descriptor) == 0 else { throw .last }
    #else
      guard fdatasync(descriptor) == 0 else { throw .last }
    #endif
  }

  /// Some file systems cannot sync a directory and answer EINVAL; their names are as durable as they can be.
  static func syncDirectory(_ descriptor: Int32) throws(SystemError) {
    #if canImport(Darwin)
      if fcntl(descriptor, F_FULLFSYNC) != -1 { return }
      // A sync that failed is not repeated with another call: the second might not report what the first did.
      guard ErrorNumber.meansUnknownCommand(errno) else { throw .last }
    #endif
    guard fsync(descriptor) == 0 || errno == EINVAL else { throw .last }
  }

  static func close(_ descriptor: Int32) {
    // Not repeated after an interruption: the descriptor is closed even then, and its number may be in use again.
    _ = libraryClose(descriptor)
  }

  /// Whether the file has no name left and is open only through this description, so that nobody else needs its bytes. Linux
  /// tells by granting a write lease, which is released at once. A child after `fork` shares our description and is not
  /// detected. False on other systems, which cannot tell.
  static func isLastOfRemovedFile(_ descriptor: Int32) -> Bool {
    #if canImport(Darwin)
      return false
    #else
      // The constants are not imported: F_SETSIG, F_SETLEASE.
      let setSignal: Int32 = 10
      let setLease: Int32 = 1024
      var status = stat()
      // Safe: the structure outlives the call. If someone breaks the lease, the signal that is sent is ignored by default.
      guard unsafe fstat(descriptor, &status) == 0, status.st_nlink == 0,
        fcntl(descriptor, setSignal, SIGURG) == 0, fcntl(descriptor, setLease, Int32(F_WRLCK)) == 0
      else { return false }
      return fcntl(descriptor, setLease, Int32(F_UNLCK)) == 0
    #endif
  }

  // MARK: Locks

  enum LockChange { case take(LockStrength), release }

  private static func lockRequest(_ byte: LockByte, _ change: LockChange) -> flock {
    var request = flock()
    switch change {
    case .take(.shared): request.l_type = Int16(F_RDLCK)
    case .take(.exclusive): request.l_type = Int16(F_WRLCK)
    case .release: request.l_type = Int16(F_UNLCK)
    }
    request.l_whence = Int16(SEEK_SET)
    request.l_start = off_t(byte.rawValue)
    request.l_len = 1
    return request
  }

  /// Changes the lock of one byte for this open description, without waiting; false when another lock is in the way.
  static func lock(_ descriptor: Int32, _ byte: LockByte, _ change: LockChange) throws(SystemError) -> Bool {
    #if canImport(Darwin)
      let setLock = F_OFD_SETLK
    #else
      let setLock: Int32 = 37  // F_OFD_SETLK; the constant is not imported
    #endif
    var request = lockRequest(byte, change)
    while true {
      // Safe: the structure outlives the call.
      if unsafe fcntl(descriptor, setLock, &request) != -1 { return true }
      if errno == EAGAIN || errno == EACCES { return false }
      guard errno == EINTR else { throw .last }
    }
  }

  /// Whether another open description holds a lock on a byte, of either strength. Takes no lock itself, so nobody is refused
  /// because of this call.
  static func isLockedByOthers(_ descriptor: Int32, _ byte: LockByte) throws(SystemError) -> Bool {
    #if canImport(Darwin)
      let getLock = F_OFD_GETLK
    #else
      let getLock: Int32 = 36  // F_OFD_GETLK; the constant is not imported
    #endif
    var request = lockRequest(byte, .take(.exclusive))
    while true {
      // Safe: the structure outlives the call.
      if unsafe fcntl(descriptor, getLock, &request) != -1 { return request.l_type != Int16(F_UNLCK) }
      guard errno == EINTR else { throw .last }
    }
  }

  // MARK: Memory

  /// Address space without memory, which must not be touched yet; nil when the system refuses that much.
  static func reserveAddresses(byteCount: Int) -> UnsafeMutableRawPointer? {
    // Safe: without MAP_FIXED a new mapping replaces no other; the same holds for the next one.
    unsafe succeeded(mmap(nil, byteCount, PROT_NONE, MAP_PRIVATE | MAP_ANON | MAP_NORESERVE, -1, 0))
  }

  /// Zeroed memory that costs nothing until it is touched; nil when the system refuses that much.
  static func mapZeroed(byteCount: Int) -> UnsafeMutableRawPointer? {
    unsafe succeeded(
      mmap(nil, byteCount, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON | MAP_NORESERVE, -1, 0))
  }

  /// The same in large pages where the system has them, which avoids most TLB misses. It begins at a multiple of 2 MB, and its
  /// length must be one.
  static func mapZeroedInLargePages(byteCount: Int) -> UnsafeMutableRawPointer? {
    let large = 2 << 20
    precondition(byteCount % large == 0, "large pages are whole")
    guard let start = unsafe mapZeroed(byteCount: byteCount + large) else { return nil }
    let front = -Int(bitPattern: start) & (large - 1)
    // Safe: both ends belong to the mapping, and the part that is returned lies between them.
    if front > 0 { unsafe unmap(start, byteCount: front) }
    let base = unsafe start + front
    if front < large { unsafe unmap(base + byteCount, byteCount: large - front) }
    #if canImport(Darwin)
      // Darwin decides by itself.
    #else
      // Only a hint: without large pages it is still memory.
      _ = unsafe madvise(base, byteCount, MADV_HUGEPAGE)
    #endif
    return unsafe base
  }

  /// Puts fresh zeroed memory in the place of whole pages; false when the system refuses.
  static func remapZeroed(_ target: UnsafeMutableRawPointer, byteCount: Int) -> Bool {
    // Safe: the caller owns the range, which is replaced as a whole.
    unsafe succeeded(
      mmap(
        target, byteCount, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON | MAP_NORESERVE | MAP_FIXED, -1, 0)) != nil
  }

  /// Makes a part of a file readable at a place inside reserved address space.
  static func mapFile(
    _ descriptor: Int32, at target: UnsafeMutableRawPointer, byteCount: Int, offset: Int
  ) throws(SystemError) {
    // Safe: the caller reserved the range, so MAP_FIXED replaces only that reservation.
    let mapped = unsafe mmap(target, byteCount, PROT_READ, MAP_SHARED | MAP_FIXED, descriptor, off_t(offset))
    guard unsafe succeeded(mapped) != nil else { throw .last }
  }

  static func unmap(_ base: UnsafeMutableRawPointer, byteCount: Int) {
    // Safe: the caller mapped the range and gives it up.
    _ = unsafe munmap(base, byteCount)
  }

  static var memoryPageByteCount: Int { Int(sysconf(Int32(_SC_PAGESIZE))) }

  /// `mmap` reports a failure as the address -1.
  private static func succeeded(_ address: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    unsafe Int(bitPattern: address) == -1 ? nil : address
  }
}

extension FileStatus {
  init(_ status: stat) {
    identity = FileIdentity(
      device: UInt64(truncatingIfNeeded: status.st_dev), inode: UInt64(truncatingIfNeeded: status.st_ino))
    linkCount = Int(clamping: status.st_nlink)
    byteCount = Int(status.st_size)
    let (allocated, isTooMuch) = Int(clamping: status.st_blocks).multipliedReportingOverflow(by: 512)
    allocatedByteCount = isTooMuch ? .max : allocated
    isRegular = status.st_mode & S_IFMT == S_IFREG
    isDirectory = status.st_mode & S_IFMT == S_IFDIR
    owner = UInt32(status.st_uid)
    group = UInt32(status.st_gid)
    #if canImport(Darwin)
      let time = status.st_mtimespec
    #else
      let time = status.st_mtim
    #endif
    modificationTime = (Int64(time.tv_sec), Int64(time.tv_nsec))
  }
}

#if !canImport(Darwin)
  private typealias RenameAt2 =
    @convention(c) (Int32, UnsafePointer<CChar>, Int32, UnsafePointer<CChar>, UInt32) -> Int32

  /// `renameat2`, which the header shows to GNU programs only. Looked up by name; nil in a library without it.
  private let renameAt2: RenameAt2? = {
    guard let symbol = unsafe dlsym(nil, "renameat2") else { return nil }
    // Safe: the manual page has the function with exactly these arguments.
    return unsafe unsafeBitCast(symbol, to: RenameAt2.self)
  }()
#endif

// The library's functions under names that the wrappers above do not shadow.

private func libraryOpen(_ path: UnsafePointer<CChar>, _ flags: Int32, _ mode: mode_t) -> Int32 {
  unsafe open(path, flags, mode)
}
private func libraryRename(_ source: UnsafePointer<CChar>, _ target: UnsafePointer<CChar>) -> Int32 {
  unsafe rename(source, target)
}
private func libraryUnlink(_ path: UnsafePointer<CChar>) -> Int32 { unsafe unlink(path) }
private func libraryClose(_ descriptor: Int32) -> Int32 { close(descriptor) }
