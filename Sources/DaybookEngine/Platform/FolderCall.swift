/// The system's calls for names in open folders that SystemCall+Below.swift does not have: folders on the way to a link's target,
/// pipes and devices, and writes at the position of a description.
///
/// As in SystemCall.swift, a function makes one call and decides nothing.

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

enum FolderCall {
  /// Opens a folder only to reach names in it, which needs no right to read.
  #if canImport(Darwin)
    private static let onlyNames = O_RDONLY
  #else
    private static let onlyNames: Int32 = 0x20_0000  // O_PATH; the constant is not imported
  #endif

  static var group: UInt32 { UInt32(getegid()) }

  /// Opens a folder, also through links.
  static func openFolder(_ path: String, in folder: Int32? = nil) throws(SystemError) -> Int32 {
    try open(path, in: folder, onlyNames | O_DIRECTORY)
  }

  /// Opens what has the name for writing, without waiting for the other end of a pipe. ENXIO when a pipe has no reader.
  static func openExisting(_ name: String, in folder: Int32) throws(SystemError) -> Int32 {
    try open(name, in: folder, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
  }

  /// The same, but ELOOP or ENOTDIR for a link.
  static func openFolderItself(_ name: String, in folder: Int32, toRead: Bool = false) throws(SystemError) -> Int32 {
    try open(name, in: folder, (toRead ? O_RDONLY : onlyNames) | O_DIRECTORY | O_NOFOLLOW)
  }

  private static func open(
    _ path: String, in folder: Int32?, _ flags: Int32, rights: UInt32 = 0
  ) throws(SystemError) -> Int32 {
    try SystemCall.check(path)
    while true {
      // Safe: the path is a C string for the length of the call; the same holds for every path below.
      let descriptor = unsafe openat(folder ?? AT_FDCWD, path, flags | O_CLOEXEC, mode_t(rights))
      if descriptor >= 0 { return try SystemCall.raised(descriptor) }
      guard errno == EINTR else { throw .last }
    }
  }

  /// The same open file under another number, so that closing ours does not close the original.
  static func duplicate(_ descriptor: Int32) throws(SystemError) -> Int32 {
    let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
    guard copy >= 0 else { throw .last }
    return copy
  }

  /// What has a name, without following a link; nil when the name is free. Without a folder the name is a path.
  static func status(of name: String, in folder: Int32? = nil) throws(SystemError) -> NameStatus? {
    try SystemCall.check(name)
    var status = stat()
    // Safe: the structure outlives the call; the same below.
    if unsafe fstatat(folder ?? AT_FDCWD, name, &status, AT_SYMLINK_NOFOLLOW) == 0 { return NameStatus(status) }
    guard errno == ENOENT else { throw .last }
    return nil
  }

  static func status(of descriptor: Int32) throws(SystemError) -> NameStatus {
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else { throw .last }
    return NameStatus(status)
  }

  /// The target that a link holds. EILSEQ when it is not UTF-8.
  static func target(ofLink name: String, in folder: Int32) throws(SystemError) -> String {
    var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
    // Safe: the array has room for as many bytes as the call is told of.
    let count = unsafe bytes.withUnsafeMutableBytes { buffer in
      guard let base = buffer.baseAddress else { return 0 }
      return unsafe readlinkat(folder, name, base.assumingMemoryBound(to: CChar.self), buffer.count)
    }
    guard count > 0 else { throw .last }
    guard let text = String(validating: bytes.prefix(count), as: UTF8.self) else { throw SystemError(code: EILSEQ) }
    return text
  }

  /// Whether a folder is on a file system that shows processes, as `/proc` is, wherever that is mounted: each mount has a device of
  /// its own.
  static func showsProcesses(_ folder: Int32) -> Bool {
    #if canImport(Darwin)
      return false
    #else
      guard let call = unsafe fileSystemStatus else { return false }
      // Larger than the structure is on any system; it begins with the kind of the file system, a little-endian number.
      var status = [UInt32](repeating: 0, count: 128)
      // Safe: the array outlives the call.
      guard unsafe status.withUnsafeMutableBytes({ unsafe call(folder, $0.baseAddress) }) == 0 else { return false }
      return status[0] == 0x9FA0  // PROC_SUPER_MAGIC
    #endif
  }

  static func setRights(_ rights: UInt32, of descriptor: Int32) throws(SystemError) {
    guard fchmod(descriptor, mode_t(rights)) == 0 else { throw .last }
  }

  /// From now on writes wait for room.
  static func wait(on descriptor: Int32) throws(SystemError) {
    let flags = fcntl(descriptor, F_GETFL)
    guard flags >= 0, fcntl(descriptor, F_SETFL, flags & ~O_NONBLOCK) >= 0 else { throw .last }
  }

  /// Writes all bytes at the position of the description.
  static func write(_ bytes: [UInt8], to descriptor: Int32) throws(SystemError) {
    var first = 0
    while first < bytes.count {
      // Safe: the range lies within the array, which outlives the call.
      let count = unsafe bytes.withUnsafeBytes { buffer in
        let rest = unsafe UnsafeRawBufferPointer(rebasing: buffer[first...])
        return unsafe libraryWrite(descriptor, rest.baseAddress, min(rest.count, SystemCall.largestTransferByteCount))
      }
      if count >= 0 { first += count } else if errno != EINTR { throw .last }
    }
  }

  static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }
}

#if !canImport(Darwin)
  /// `fstatfs`, whose header Swift does not import. Looked up by name; nil in a library without it.
  private let fileSystemStatus: (@convention(c) (Int32, UnsafeMutableRawPointer?) -> Int32)? = {
    guard let symbol = unsafe dlsym(nil, "fstatfs") else { return nil }
    // Safe: the manual page has the function with exactly these arguments, in Glibc and in Musl.
    return unsafe unsafeBitCast(symbol, to: (@convention(c) (Int32, UnsafeMutableRawPointer?) -> Int32).self)
  }()
#endif

/// The library's function under a name that the wrapper above does not shadow.
private func libraryWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
  unsafe write(descriptor, bytes, count)
}
