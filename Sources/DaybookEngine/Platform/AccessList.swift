/// Access control lists, as far as the attributes of a file carry them. What they mean, `Access` says.
///
/// A POSIX list, little-endian:
///
///     offset  size  field
///          0     4  version, 2
///      4+8×n     2  tag: 1 owner, 2 a user, 4 the owning group, 8 a group, 16 mask, 32 others
///      6+8×n     2  rights: 4 read, 2 write, 1 enter
///      8+8×n     4  who
///
/// What owner, mask and others may do is in the mode, too; the system keeps both equal.
package enum AccessList {
  package static let posixName = "system.posix_acl_access"
  /// A directory's default list: what is made in the directory gets it, whatever mode the caller asks for.
  package static let posixDefaultName = "system.posix_acl_default"
  /// Our own name for Apple's list, which the system reads and writes with separate calls.
  static let appleName = "daybook.acl"
  /// The lists for the file itself. No system has both.
  static let ofFiles = [posixName, appleName]

  package static func isName(_ name: String) -> Bool { name.hasPrefix("system.") || name == appleName }

  /// What a POSIX list says besides the mode, by numbers of users and groups; nil for a list that cannot be read, also where a number
  /// is that of several.
  static func entries(
    _ list: [UInt8]
  ) -> (owningGroup: UInt8?, users: [UInt32: UInt8], groups: [UInt32: UInt8])? {
    guard isPosix(list) else { return nil }
    var owningGroup: UInt8?
    var (users, groups): ([UInt32: UInt8], [UInt32: UInt8]) = ([:], [:])
    for index in stride(from: 4, to: list.count, by: 8) {
      let rights = list[index + 2] & 7
      let number = (4..<8).reduce(0) { $0 | UInt32(list[index + $1]) << (8 * UInt32($1 - 4)) }
      switch list[index] {
      case 2:
        if UnknownNumbers.hasUser(number) || users.updateValue(rights, forKey: number) != nil { return nil }
      case 4: owningGroup = rights
      case 8:
        if UnknownNumbers.hasGroup(number) || groups.updateValue(rights, forKey: number) != nil { return nil }
      case 1, 16, 32: break
      default: return nil
      }
    }
    return (owningGroup, users, groups)
  }

  private static func isPosix(_ list: [UInt8]) -> Bool {
    list.count >= 4 && Array(list[..<4]) == [2, 0, 0, 0] && list.count % 8 == 4
  }

  /// A POSIX list, cut down to a mode as `chmod` does: owner, others, and the mask, or without one the owning group. A list of another
  /// version stays as it is.
  static func limited(_ list: [UInt8], to mode: UInt32) -> [UInt8] {
    guard isPosix(list), !isMutant("list-before-mode") else { return list }
    var list = list
    let entries = stride(from: 4, to: list.count, by: 8)
    let hasMask = entries.contains { list[$0] == 16 }
    for index in entries {
      let digit: UInt32? =
        switch list[index] {
        case 1: mode >> 6
        case 4: hasMask ? nil : mode >> 3
        case 16: mode >> 3
        case 32: mode
        default: nil
        }
      if let digit { list[index + 2] = UInt8(digit & 7) }
    }
    return list
  }

  /// A POSIX list that lets everyone enter who may read. A list of another version is returned as it is.
  static func entering(_ list: [UInt8]) -> [UInt8] {
    guard isPosix(list) else { return list }
    var list = list
    for index in stride(from: 6, to: list.count, by: 8) where list[index] & 4 != 0 { list[index] |= 1 }
    return list
  }
}
