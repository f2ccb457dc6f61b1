#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// The error numbers that the engine distinguishes, and those that a simulated disk uses.
package enum ErrorNumber {
  package static let inputOutput: Int32 = EIO
  package static let noSpace: Int32 = ENOSPC
  package static let notFound: Int32 = ENOENT
  package static let exists: Int32 = EEXIST
  package static let tooLarge: Int32 = EFBIG
  package static let permission: Int32 = EACCES
  package static let badDescriptor: Int32 = EBADF
  package static let invalid: Int32 = EINVAL
  package static let noMemory: Int32 = ENOMEM
  package static let interrupted: Int32 = EINTR
  package static let notEmpty: Int32 = ENOTEMPTY
  package static let tooManyLinks: Int32 = ELOOP
  package static let again: Int32 = EAGAIN
  package static let otherVolume: Int32 = EXDEV
  package static let notPermitted: Int32 = EPERM
  package static let notUTF8: Int32 = EILSEQ
  package static let noReader: Int32 = ENXIO
  package static let nameTooLong: Int32 = ENAMETOOLONG

  /// What the engine does about an errno.
  package static func kind(of code: Int32) -> DiskFailure.Kind {
    switch code {
    case ENOENT: .notFound
    case EEXIST: .exists
    case ENOSPC, EDQUOT: .full
    case EACCES, EPERM, EROFS: .permission
    case EFBIG: .tooLarge
    case ELOOP, ENOTDIR, ENXIO: .notRegular
    case EILSEQ: .notUTF8
    case ENAMETOOLONG: .nameTooLong
    default: .other
    }
  }
}

extension ErrorNumber {
  /// Whether a volume, or its server, has no locks.
  static func meansNoLocks(_ code: Int32) -> Bool {
    code == ENOLCK || code == ENOSYS || code == ENOTSUP || code == EOPNOTSUPP || code == EINVAL
  }

  /// Linux tells of an inode or a list of names that does not match its checksum by numbers of their own (ext4, XFS).
  static func meansLostPlace(_ code: Int32) -> Bool {
    #if os(Linux)
      code == EIO || code == EUCLEAN || code == EBADMSG
    #else
      code == EIO
    #endif
  }

  package static let unsupported: Int32 = ENOTSUP
  package static let noSuchCommand: Int32 = ENOTTY

  /// Whether a file system that does not know a command of `fcntl` may answer with this. ENOTSUP and EOPNOTSUPP are the same
  /// number on Linux only.
  package static func meansUnknownCommand(_ code: Int32) -> Bool {
    code == ENOTSUP || code == EOPNOTSUPP || code == EINVAL || code == ENOTTY
  }
}

extension DiskFailure {
  /// A failure whose kind follows from its errno.
  package init(
    _ operation: Operation, path: String, code: Int32, offset: Int? = nil, byteCount: Int? = nil
  ) {
    self.init(
      operation, path: path, kind: ErrorNumber.kind(of: code), code: code, offset: offset, byteCount: byteCount)
  }
}
