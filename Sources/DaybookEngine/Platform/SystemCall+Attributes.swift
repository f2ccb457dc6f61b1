/// The system's calls for permissions, owners and extended attributes of files.
///
/// Linux declares the calls for extended attributes in a header that Swift does not import, so they are looked up by name;
/// where the library lacks them, no extended attributes are kept. Apple's access control lists are not extended attributes and
/// have their own calls.

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

extension SystemCall {
  /// Everything that a copy of the file should get.
  static func attributes(_ descriptor: Int32) throws(SystemError) -> FileAttributes {
    var status = stat()
    // Safe: the structure outlives the call.
    guard unsafe fstat(descriptor, &status) == 0 else { throw .last }
    return FileAttributes(
      mode: UInt32(status.st_mode) & 0o7777, owner: UInt32(status.st_uid), group: UInt32(status.st_gid),
      extended: try extendedAttributes(descriptor))
  }

  /// Gives a file its attributes, or fewer where the system refuses a part: see `FileAttributes.narrowed`. An access control
  /// list that it inherited from its directory is removed: with the new mode, it would let in the users that it names.
  static func setAttributes(_ wanted: FileAttributes, of descriptor: Int32) throws(SystemError) {
    var status = stat()
    // Safe: the structure outlives the call; the same for the second look.
    guard unsafe fstat(descriptor, &status) == 0 else { throw .last }
    // One that cannot be known would be another one here.
    let owner = UnknownNumbers.hasUser(wanted.owner) ? uid_t.max : uid_t(wanted.owner)
    let group = UnknownNumbers.hasGroup(wanted.group) ? gid_t.max : gid_t(wanted.group)
    if status.st_uid != owner || status.st_gid != group {
      if fchown(descriptor, owner, group) != 0 {
        guard isRefusal(errno) else { throw .last }
        // A user may give his file to a group that he belongs to.
        if fchown(descriptor, uid_t.max, group) != 0, !isRefusal(errno) { throw .last }
      }
      guard unsafe fstat(descriptor, &status) == 0 else { throw .last }
    }
    let (keepsOwner, keepsGroup) = (status.st_uid == owner, status.st_gid == group)
    // A list is written just before the mode, and already cut down to it: who opens the file in between keeps the rights he got.
    var keepsLists = true
    let first = wanted.ofCopy(keepsOwner: keepsOwner, keepsGroup: keepsGroup, keepsLists: true)
    for (name, value) in first.extended.sorted(by: { $0.key < $1.key }) where name != AccessList.posixName {
      if try !setExtended(name, value, of: descriptor), AccessList.isName(name) { keepsLists = false }
    }
    if let list = first.extended[AccessList.posixName], keepsLists {
      keepsLists = try setExtended(AccessList.posixName, AccessList.limited(list, to: first.mode), of: descriptor)
    }
    var given = wanted.ofCopy(keepsOwner: keepsOwner, keepsGroup: keepsGroup, keepsLists: keepsLists)
    if !isMutant("keep-inherited-list") {
      for name in AccessList.ofFiles where given.extended[name] == nil {
        if try !removeList(name, of: descriptor) { given.mode &= 0o7700 }
      }
      if status.st_mode & S_IFMT == S_IFDIR, given.extended[AccessList.posixDefaultName] == nil {
        // If it cannot be removed, each new file here has its list removed instead.
        _ = try removeList(AccessList.posixDefaultName, of: descriptor)
      }
    }
    guard fchmod(descriptor, mode_t(given.mode)) != 0 else { return }
    // A volume without permissions, or a file that has another owner by now: it stays as private as it was made.
    guard isRefusal(errno) else { throw .last }
  }

  static func isRefusal(_ code: Int32) -> Bool {
    code == EPERM || code == EACCES || code == EINVAL || code == ENOSYS || code == ENOTSUP || code == EOPNOTSUPP
  }

  /// Whether a file has an access control list that lets in users whom its mode excludes.
  static func hasList(_ descriptor: Int32) throws(SystemError) -> Bool {
    let attributes = try extendedAttributes(descriptor)
    return AccessList.ofFiles.contains { attributes[$0] != nil }
  }

  /// Sums that the system keeps of a file's content, and capabilities of programs: only the original may have them.
  private static let originalsOwn: Set<String> = ["security.ima", "security.evm", "security.capability"]

  private static func extendedAttributes(_ descriptor: Int32) throws(SystemError) -> [String: [UInt8]] {
    var result: [String: [UInt8]] = [:]
    let names = try attributeNames(descriptor)
    for name in names where !originalsOwn.contains(name) {
      if let value = try extendedAttribute(name, descriptor) { result[name] = value }
    }
    #if canImport(Darwin)
      if let list = unsafe acl_get_fd_np(descriptor, ACL_TYPE_EXTENDED) {
        // Safe: the list is ours until it is given back.
        defer { _ = unsafe acl_free(UnsafeMutableRawPointer(list)) }
        var bytes = [UInt8](repeating: 0, count: max(0, unsafe acl_size(list)))
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe acl_copy_ext($0.baseAddress, list, $0.count) }
        if count > 0 { result[AccessList.appleName] = Array(bytes.prefix(count)) }
      }
    #endif
    return result
  }

  /// Asks for a value whose length may change between the call for the length and the call for the bytes.
  private static func grown(
    _ body: (UnsafeMutableRawPointer?, Int) -> Int
  ) throws(SystemError) -> [UInt8]? {
    while true {
      let wanted = body(nil, 0)
      if wanted == 0 { return [] }
      guard wanted > 0 else {
        if isRefusal(errno) || errno == noAttribute { return nil }
        throw .last
      }
      var bytes = [UInt8](repeating: 0, count: wanted)
      // Safe: the array has room for as many bytes as the call is told of.
      let count = unsafe bytes.withUnsafeMutableBytes { unsafe body($0.baseAddress, $0.count) }
      if count >= 0 { return Array(bytes.prefix(count)) }
      if errno == ERANGE { continue }
      if isRefusal(errno) || errno == noAttribute { return nil }
      throw .last
    }
  }

  #if canImport(Darwin)
    private static let noAttribute = ENOATTR

    private static func attributeNames(_ descriptor: Int32) throws(SystemError) -> [String] {
      // Safe: `grown` owns the bytes; the same below.
      let bytes = unsafe try grown { unsafe flistxattr(descriptor, $0?.assumingMemoryBound(to: CChar.self), $1, 0) }
      return (bytes ?? []).split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
    }

    private static func extendedAttribute(_ name: String, _ descriptor: Int32) throws(SystemError) -> [UInt8]? {
      unsafe try grown { unsafe fgetxattr(descriptor, name, $0, $1, 0, 0) }
    }

    /// False where the system or the volume refuses it.
    private static func setExtended(
      _ name: String, _ value: [UInt8], of descriptor: Int32
    ) throws(SystemError) -> Bool {
      var code: Int32 = -1
      if name == AccessList.appleName {
        // Safe: the bytes came from `acl_copy_ext`, and the list made of them is ours until it is given back.
        guard let list = unsafe value.withUnsafeBytes({ unsafe acl_copy_int($0.baseAddress) }) else { return false }
        defer { _ = unsafe acl_free(UnsafeMutableRawPointer(list)) }
        code = unsafe acl_set_fd_np(descriptor, list, ACL_TYPE_EXTENDED)
      } else {
        code = unsafe value.withUnsafeBytes { unsafe fsetxattr(descriptor, name, $0.baseAddress, $0.count, 0, 0) }
      }
      if code == 0 { return true }
      guard isRefusal(errno) || errno == E2BIG || errno == ERANGE else { throw .last }
      return false
    }

    /// False where a list cannot be removed. Other lists do not exist on this system.
    private static func removeList(_ name: String, of descriptor: Int32) throws(SystemError) -> Bool {
      guard name == AccessList.appleName, let present = unsafe acl_get_fd_np(descriptor, ACL_TYPE_EXTENDED) else { return true }
      // Safe: both lists are ours until they are given back.
      defer { _ = unsafe acl_free(UnsafeMutableRawPointer(present)) }
      guard let empty = unsafe acl_init(0) else { return false }
      defer { _ = unsafe acl_free(UnsafeMutableRawPointer(empty)) }
      if unsafe acl_set_fd_np(descriptor, empty, ACL_TYPE_EXTENDED) == 0 { return true }
      guard isRefusal(errno) else { throw .last }
      return false
    }
  #else
    private static let noAttribute = ENODATA

    private static func attributeNames(_ descriptor: Int32) throws(SystemError) -> [String] {
      guard let calls = unsafe attributeCalls else { return [] }
      // Safe: `grown` owns the bytes; the same below.
      let bytes = unsafe try grown { unsafe calls.list(descriptor, $0, $1) }
      return (bytes ?? []).split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
    }

    private static func extendedAttribute(_ name: String, _ descriptor: Int32) throws(SystemError) -> [UInt8]? {
      guard let calls = unsafe attributeCalls else { return nil }
      return unsafe try grown { unsafe calls.get(descriptor, name, $0, $1) }
    }

    /// False where the system or the volume refuses it.
    private static func setExtended(
      _ name: String, _ value: [UInt8], of descriptor: Int32
    ) throws(SystemError) -> Bool {
      guard let calls = unsafe attributeCalls else { return false }
      let code = unsafe value.withUnsafeBytes { unsafe calls.set(descriptor, name, $0.baseAddress, $0.count, 0) }
      if code == 0 { return true }
      guard isRefusal(errno) || errno == E2BIG || errno == ERANGE else { throw .last }
      return false
    }

    /// False where a list cannot be removed.
    private static func removeList(_ name: String, of descriptor: Int32) throws(SystemError) -> Bool {
      try removeExtended(name, of: descriptor)
    }

    private static func removeExtended(_ name: String, of descriptor: Int32) throws(SystemError) -> Bool {
      guard let calls = unsafe attributeCalls, try extendedAttribute(name, descriptor) != nil else { return true }
      // Safe: the name is a C string for the length of the call.
      if unsafe calls.remove(descriptor, name) == 0 || errno == noAttribute { return true }
      guard isRefusal(errno) else { throw .last }
      return false
    }
  #endif
}

#if !canImport(Darwin)
  @unsafe private struct AttributeCalls: Sendable {
    typealias List = @convention(c) (Int32, UnsafeMutableRawPointer?, Int) -> Int
    typealias Get = @convention(c) (Int32, UnsafePointer<CChar>, UnsafeMutableRawPointer?, Int) -> Int
    typealias Set = @convention(c) (Int32, UnsafePointer<CChar>, UnsafeRawPointer?, Int, Int32) -> Int32
    typealias Remove = @convention(c) (Int32, UnsafePointer<CChar>) -> Int32
    let list: List
    let get: Get
    let set: Set
    let remove: Remove
  }

  private let attributeCalls: AttributeCalls? = {
    guard let list = unsafe dlsym(nil, "flistxattr"), let get = unsafe dlsym(nil, "fgetxattr"),
      let set = unsafe dlsym(nil, "fsetxattr"), let remove = unsafe dlsym(nil, "fremovexattr")
    else { return nil }
    // Safe: the manual pages have the functions with exactly these arguments, in Glibc and in Musl.
    return unsafe AttributeCalls(
      list: unsafeBitCast(list, to: AttributeCalls.List.self), get: unsafeBitCast(get, to: AttributeCalls.Get.self),
      set: unsafeBitCast(set, to: AttributeCalls.Set.self), remove: unsafeBitCast(remove, to: AttributeCalls.Remove.self))
  }()
#endif
