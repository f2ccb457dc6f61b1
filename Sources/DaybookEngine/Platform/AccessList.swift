/// Lists of rights, as far as the attributes of a file carry them.
package enum AccessList {
  package static let posixName = "system.posix_acl_access"
  /// Of a directory: what is made in it gets this one, whatever mode it is asked for.
  package static let posixDefaultName = "system.posix_acl_default"
  /// Not a name of the system's: Apple's list has calls of its own.
  static let appleName = "daybook.acl"
  /// The lists that say who may do what with a file itself. No system has both.
  static let ofFiles = [posixName, appleName]

  package static func isName(_ name: String) -> Bool { name.hasPrefix("system.") || name == appleName }

  /// A POSIX list in which whoever may read may enter, too.
  ///
  ///     offset  size  field
  ///          0     4  version, 2
  ///      4+8×n     2  tag: owner, user, group, …
  ///      6+8×n     2  rights: 4 read, 2 write, 1 enter
  ///      8+8×n     4  who
  ///
  /// Little-endian. A list of another version stays as it is.
  static func entering(_ list: [UInt8]) -> [UInt8] {
    guard list.count >= 4, Array(list[..<4]) == [2, 0, 0, 0], list.count % 8 == 4 else { return list }
    var list = list
    for index in stride(from: 6, to: list.count, by: 8) where list[index] & 4 != 0 { list[index] |= 1 }
    return list
  }
}
