/// Numbers of users and groups that mean many: in a user namespace (a sandbox, a container without root) all whom its map does
/// not name look like one, the overflow number. There it equals nothing, not even itself: strangers would pass for a
/// file's owner or group.
///
/// Elsewhere it is a number as any other, usually that of a user without rights.
enum UnknownNumbers {
  /// Whether a number may be that of any of several users.
  static func hasUser(_ number: UInt32) -> Bool {
    isUnknown(number, of: .user, own: SystemCall.effectiveUser)
  }

  static func hasGroup(_ number: UInt32) -> Bool {
    isUnknown(number, of: .group, own: FolderCall.group)
  }

  private enum Kind: String { case user = "uid", group = "gid" }

  // They are the whole system's, and stay as they are.
  private static let overflowUser = overflow(.user)
  private static let overflowGroup = overflow(.group)

  private static func overflow(_ kind: Kind) -> UInt32 {
    read("/proc/sys/kernel/overflow" + kind.rawValue).flatMap { decimals($0).first } ?? 65_534
  }

  private static func isUnknown(_ number: UInt32, of kind: Kind, own: UInt32) -> Bool {
    // No user has it: the system's word for "none", and for one in a list whom the map does not name.
    if number == .max { return true }
    #if canImport(Darwin)
      return false
    #else
      guard number == (kind == .user ? overflowUser : overflowGroup), !isMutant("trust-overflow-numbers") else { return false }
      // Not kept: a process may enter a namespace at any time.
      if let map = read("/proc/self/\(kind.rawValue)_map") { return !isWhole(map) }
      // A system without namespaces, or one that does not show its processes: there only our own number is known.
      return number != own && read("/proc/self/stat") == nil
    #endif
  }

  /// Whether a namespace names every user: lines of the first number inside, the first outside, and how many follow.
  static func isWhole(_ map: [UInt8]) -> Bool {
    let numbers = decimals(map)
    guard numbers.count % 3 == 0 else { return false }
    return stride(from: 2, to: numbers.count, by: 3).reduce(UInt64(0)) { $0 + UInt64(numbers[$1]) } >= UInt64(UInt32.max)
  }

  /// The numbers in a text; one that is too large is the largest.
  private static func decimals(_ text: [UInt8]) -> [UInt32] {
    text.split { !(0x30...0x39).contains($0) }.map { digits in
      digits.reduce(UInt32(0)) { UInt32(clamping: UInt64($0) * 10 + UInt64($1 - 0x30)) }
    }
  }

  /// The beginning of a small file of the system; nil where there is none.
  private static func read(_ path: String) -> [UInt8]? {
    guard let descriptor = try? SystemCall.openSource(path) else { return nil }
    defer { SystemCall.close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 16 << 10)
    var length = 0
    while length < bytes.count {
      // Safe: the pointer and the count are those of the rest of the array.
      let count = try? unsafe bytes.withUnsafeMutableBytes { (buffer) throws(SystemError) in
        guard let base = buffer.baseAddress else { return 0 }
        return unsafe try SystemCall.read(into: base + length, count: buffer.count - length, from: descriptor, at: length)
      }
      guard let count else { return nil }
      if count == 0 { break }
      length += count
    }
    return Array(bytes.prefix(length))
  }
}
