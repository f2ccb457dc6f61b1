/// The system's calls for directories and for copies of whole files: what assets need.
///
/// As in SystemCall.swift, a function makes one call and decides nothing; where a platform lacks a call, the result says so,
/// and the caller does without.

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

extension SystemCall {
  /// EEXIST when the target exists.
  static func link(_ source: String, to target: String) throws(SystemError) {
    try check(source)
    try check(target)
    // Safe: paths are C strings for the length of the call; the same holds for every path below. The second name is for a link
    // itself, not for what it leads to: Darwin's `link` would follow it.
    guard unsafe linkat(AT_FDCWD, source, AT_FDCWD, target, 0) == 0 else { throw .last }
  }

  static func makeDirectory(_ path: String, rights: UInt32 = 0o755) throws(SystemError) {
    try check(path)
    guard unsafe mkdir(path, mode_t(rights)) == 0 else { throw .last }
  }

  static func removeDirectory(_ path: String) throws(SystemError) {
    try check(path)
    guard unsafe rmdir(path) == 0 else { throw .last }
  }

  /// The names in a directory, but "." and "..".
  static func entries(of path: String, followingLink: Bool) throws(SystemError) -> [DirectoryEntry] {
    try entries(ofDescriptor: openDirectory(path, followsLink: followingLink))
  }

  /// Closes the descriptor.
  static func entries(ofDescriptor descriptor: Int32) throws(SystemError) -> [DirectoryEntry] {
    guard let stream = unsafe fdopendir(descriptor) else {
      let error = SystemError.last
      close(descriptor)
      throw error
    }
    defer { _ = unsafe closedir(stream) }
    var entries: [DirectoryEntry] = []
    while true {
      errno = 0
      // Safe: the entry is valid until the next call on the stream, which belongs to this function.
      guard let entry = unsafe readdir(stream) else {
        guard errno == 0 else { throw .last }
        return entries
      }
      let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { bytes in
        // Safe: the system ends a name with a zero, inside the array.
        unsafe String(cString: UnsafeRawPointer(bytes).assumingMemoryBound(to: CChar.self))
      }
      if name == "." || name == ".." { continue }
      let isDirectory: Bool
      switch Int32(unsafe entry.pointee.d_type) {
      case Int32(DT_DIR): isDirectory = true
      case Int32(DT_UNKNOWN):
        // Some file systems do not report the kind.
        isDirectory = (try? status(in: descriptor, name).isDirectory) ?? false
      default: isDirectory = false
      }
      entries.append(DirectoryEntry(name: name, isDirectory: isDirectory))
    }
  }

  static func makeReadOnly(_ descriptor: Int32) throws(SystemError) {
    guard fchmod(descriptor, 0o444) == 0 else { throw .last }
  }

  /// Whether `target` is now a copy of `source` that shares its blocks. Linux clones piece by piece instead: `copyRange`.
  static func clone(_ source: String, to target: String) throws(SystemError) -> Bool {
    try check(source)
    try check(target)
    #if canImport(Darwin)
      if unsafe clonefile(source, target, 0) == 0 { return true }
      guard errno == ENOTSUP || errno == EXDEV || errno == EINVAL else { throw .last }
    #endif
    return false
  }

  /// Copies inside the system; nil when it cannot for these two files. Less than all where the source ends.
  static func copyRange(
    from source: Int32, to target: Int32, at offset: Int, count: Int
  ) throws(SystemError) -> Int? {
    #if canImport(Darwin)
      return nil
    #else
      guard let call = unsafe copyFileRange else { return nil }
      var (input, output) = (Int64(offset), Int64(offset))
      while true {
        // Safe: both offsets outlive the call.
        let copied = unsafe call(source, &input, target, &output, min(count, largestTransferByteCount), 0)
        if copied >= 0 { return copied }
        switch errno {
        case EINTR: continue
        case EXDEV, ENOSYS, EOPNOTSUPP, EINVAL, EPERM: return nil
        // Which of the two files it is, reading and writing tell.
        case let code where ErrorNumber.meansLostPlace(code): return nil
        default: throw .last
        }
      }
    #endif
  }
}

extension SystemCall {
  /// Begins to write what is in the cache of a range; waits for nothing.
  static func beginWriteBack(_ descriptor: Int32, _ range: Range<Int>) {
    #if !canImport(Darwin)
      // 2: SYNC_FILE_RANGE_WRITE. An error is kept for the sync, as with any other write to the disk.
      _ = syncFileRange?(descriptor, Int64(range.lowerBound), Int64(range.count), 2)
    #endif
  }
}

#if !canImport(Darwin)
  private typealias CopyFileRange =
    @convention(c) (
      Int32, UnsafeMutablePointer<Int64>?, Int32, UnsafeMutablePointer<Int64>?, Int, UInt32
    ) -> Int

  /// `copy_file_range`, which the header shows to GNU programs only. Looked up by name; nil in a library without it.
  private let copyFileRange: CopyFileRange? = {
    guard let symbol = unsafe dlsym(nil, "copy_file_range") else { return nil }
    // Safe: the manual page has the function with exactly these arguments, in Glibc and in Musl.
    return unsafe unsafeBitCast(symbol, to: CopyFileRange.self)
  }()

  private typealias SyncFileRange = @convention(c) (Int32, Int64, Int64, UInt32) -> Int32

  /// `sync_file_range`, in the same way.
  private let syncFileRange: SyncFileRange? = {
    guard let symbol = unsafe dlsym(nil, "sync_file_range") else { return nil }
    // Safe: the manual page has the function with these arguments, in Glibc and in Musl.
    return unsafe unsafeBitCast(symbol, to: SyncFileRange.self)
  }()
#endif
