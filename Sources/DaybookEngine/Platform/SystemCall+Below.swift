/// The system's calls for names in an open directory.
///
/// As in SystemCall.swift, a function makes one call and decides nothing. None of them follows a link with the name. A name is
/// one component; anything else is EINVAL.

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

extension SystemCall {
  static var effectiveUser: UInt32 { UInt32(geteuid()) }

  /// Refuses a name that leads out of its directory, or through another one.
  private static func checkName(_ name: String) throws(SystemError) {
    guard !name.isEmpty, name != ".", name != "..", !name.utf8.contains(where: { $0 == 0 || $0 == UInt8(ascii: "/") }) else {
      throw SystemError(code: EINVAL)
    }
  }

  // MARK: opening

  static func open(
    in folder: Int32, _ name: String, _ mode: OpenMode, rights: UInt32 = 0o644
  ) throws(SystemError) -> Int32 {
    let flags =
      switch mode {
      case .readOnly, .readContent: O_RDONLY | O_NONBLOCK | O_NOCTTY
      case .readWrite: O_RDWR | O_NONBLOCK | O_NOCTTY
      case .createNew: O_RDWR | O_CREAT | O_EXCL
      }
    return try openDescriptor(in: folder, name, flags, rights: rights)
  }

  static func openDirectory(in folder: Int32, _ name: String) throws(SystemError) -> Int32 {
    try openDescriptor(in: folder, name, O_RDONLY | O_DIRECTORY)
  }

  /// Opens a file or a directory, to ask its volume something.
  static func openAnything(in folder: Int32, _ name: String) throws(SystemError) -> Int32 {
    try openDescriptor(in: folder, name, O_RDONLY | O_NONBLOCK | O_NOCTTY)
  }

  private static func openDescriptor(
    in folder: Int32, _ name: String, _ flags: Int32, rights: UInt32 = 0o644
  ) throws(SystemError) -> Int32 {
    try checkName(name)
    while true {
      // Safe: the name is a C string for the length of the call; the same holds for every name below.
      let descriptor = unsafe openat(folder, name, flags | O_NOFOLLOW | O_CLOEXEC, mode_t(rights))
      if descriptor >= 0 { return try raised(descriptor) }
      guard errno == EINTR else { throw .last }
    }
  }

  static func openDirectory(_ path: String, followsLink: Bool) throws(SystemError) -> Int32 {
    try openDescriptor(path, O_RDONLY | O_DIRECTORY | (followsLink ? 0 : O_NOFOLLOW))
  }

  #if canImport(Darwin)
    private static let enters: Int32 = 0x4000_0000  // O_EXEC; with O_DIRECTORY it is O_SEARCH
  #else
    private static let enters: Int32 = 0o10_000_000  // O_PATH; the constant is not imported
  #endif

  /// Opens a directory that may be entered but not listed: the descriptor only serves to reach names in it.
  static func enterDirectory(_ path: String, followsLink: Bool) throws(SystemError) -> Int32 {
    try openDescriptor(path, enters | O_DIRECTORY | (followsLink ? 0 : O_NOFOLLOW))
  }

  static func enterDirectory(in folder: Int32, _ name: String) throws(SystemError) -> Int32 {
    try openDescriptor(in: folder, name, enters | O_DIRECTORY)
  }

  // MARK: names

  static func status(
    in folder: Int32, _ name: String, followingLink: Bool = false
  ) throws(SystemError) -> FileStatus {
    try checkName(name)
    var status = stat()
    // Safe: the structure outlives the call.
    guard unsafe fstatat(folder, name, &status, followingLink ? 0 : AT_SYMLINK_NOFOLLOW) == 0 else { throw .last }
    return FileStatus(status)
  }

  /// The names in a directory, but "." and "..".
  static func entries(in folder: Int32) throws(SystemError) -> [DirectoryEntry] {
    // A description of its own, because the position in the list belongs to the description.
    while true {
      let descriptor = unsafe openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
      if descriptor >= 0 { return try entries(ofDescriptor: raised(descriptor)) }
      guard errno == EINTR else { throw .last }
    }
  }

  static func makeDirectory(in folder: Int32, _ name: String, rights: UInt32) throws(SystemError) {
    try checkName(name)
    guard unsafe mkdirat(folder, name, mode_t(rights)) == 0 else { throw .last }
  }

  static func unlink(in folder: Int32, _ name: String) throws(SystemError) {
    try checkName(name)
    guard unsafe unlinkat(folder, name, 0) == 0 else { throw .last }
  }

  static func removeDirectory(in folder: Int32, _ name: String) throws(SystemError) {
    try checkName(name)
    guard unsafe unlinkat(folder, name, AT_REMOVEDIR) == 0 else { throw .last }
  }

  static func link(in folder: Int32, _ name: String, to target: Int32, _ newName: String) throws(SystemError) {
    try checkName(name)
    try checkName(newName)
    guard unsafe linkat(folder, name, target, newName, 0) == 0 else { throw .last }
  }

  static func rename(in folder: Int32, _ name: String, to target: Int32, _ newName: String) throws(SystemError) {
    try checkName(name)
    try checkName(newName)
    guard unsafe renameat(folder, name, target, newName) == 0 else { throw .last }
  }

  /// EEXIST when the target exists.
  static func renameWithoutReplacing(
    in folder: Int32, _ name: String, to target: Int32, _ newName: String
  ) throws(SystemError) {
    for way in RenameWay.allCases where try renameWithoutReplacing(in: folder, name, to: target, newName, way) { return }
  }

  /// False where the system or the volume cannot do it this way; then nothing has happened.
  static func renameWithoutReplacing(
    in folder: Int32, _ name: String, to target: Int32, _ newName: String, _ way: RenameWay
  ) throws(SystemError) -> Bool {
    try checkName(name)
    try checkName(newName)
    switch way {
    case .atOnce:
      guard let code = unsafe renameNoReplace(folder, name, target, newName) else { return false }
      if code == 0 { return true }
      guard code == EINVAL || code == ENOSYS || code == ENOTSUP || code == EOPNOTSUPP else { throw SystemError(code: code) }
      return false
    case .byLink:
      do { try link(in: folder, name, to: target, newName) } catch {
        guard isRefusal(error.code) || error.code == EMLINK else { throw error }
        return false
      }
      try unlink(in: folder, name)
    case .byClaim:
      close(try openDescriptor(in: target, newName, O_WRONLY | O_CREAT | O_EXCL, rights: 0o600))
      do { try rename(in: folder, name, to: target, newName) } catch {
        try? unlink(in: target, newName)
        throw error
      }
    }
    return true
  }

  /// The same for a folder, in one folder. Where the system or the volume cannot do it, an empty folder may be replaced: a
  /// plain rename refuses all else.
  static func renameFolderWithoutReplacing(in folder: Int32, _ name: String, to newName: String) throws(SystemError) {
    if try renameWithoutReplacing(in: folder, name, to: folder, newName, .atOnce) { return }
    do { try rename(in: folder, name, to: folder, newName) } catch {
      throw error.code == ErrorNumber.notEmpty ? SystemError(code: ErrorNumber.exists) : error
    }
  }

  /// Makes a copy that shares its blocks; false where nobody can. Linux clones piece by piece instead: `copyRange`.
  static func clone(_ source: Int32, in folder: Int32, to name: String) throws(SystemError) -> Bool {
    try checkName(name)
    #if canImport(Darwin)
      if unsafe fclonefileat(source, folder, name, 0) == 0 { return true }
      guard errno == ENOTSUP || errno == EXDEV || errno == EINVAL else { throw .last }
    #endif
    return false
  }

  // MARK: durability

  /// Makes everything durable that was written before to the volume of an open file or directory.
  static func syncVolume(holding descriptor: Int32) throws(SystemError) {
    #if canImport(Darwin)
      // Darwin has no call for one volume. This one writes the file system's journal and then flushes the drive's cache.
      if fcntl(descriptor, F_FULLFSYNC) != -1 { return }
      guard fsync(descriptor) == 0 else { throw .last }
    #else
      guard let call = syncFileSystem else { throw SystemError(code: ENOSYS) }
      guard call(descriptor) == 0 else { throw .last }
    #endif
  }
}

#if !canImport(Darwin)
  /// `syncfs`, which the header shows to GNU programs only. Looked up by name; nil in a library without it.
  private let syncFileSystem: (@convention(c) (Int32) -> Int32)? = {
    guard let symbol = unsafe dlsym(nil, "syncfs") else { return nil }
    // Safe: the manual page has the function with exactly this argument, in Glibc and in Musl.
    return unsafe unsafeBitCast(symbol, to: (@convention(c) (Int32) -> Int32).self)
  }()
#endif
