#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// What a name or a descriptor leads to.
struct NameStatus {
  enum Kind { case regular, folder, link, pipe, characterDevice, other }
  let kind: Kind
  let identity: FileIdentity
  let owner: UInt32
  let group: UInt32
  /// Permission bits, without the kind.
  let mode: UInt32
  let linkCount: Int
  let byteCount: Int
}

extension NameStatus {
  init(_ status: stat) {
    kind =
      switch status.st_mode & S_IFMT {
      case S_IFREG: .regular
      case S_IFDIR: .folder
      case S_IFLNK: .link
      case S_IFIFO: .pipe
      case S_IFCHR: .characterDevice
      default: .other
      }
    identity = FileIdentity(
      device: UInt64(truncatingIfNeeded: status.st_dev), inode: UInt64(truncatingIfNeeded: status.st_ino))
    owner = UInt32(status.st_uid)
    group = UInt32(status.st_gid)
    mode = UInt32(status.st_mode) & 0o7777
    linkCount = Int(clamping: status.st_nlink)
    byteCount = Int(status.st_size)
  }
}
