/// Access control lists, as far as the attributes of a file carry them.
package enum AccessList {
  package static let posixName = "system.posix_acl_access"
  /// A directory's default list: what is made in the directory gets it, whatever mode the caller asks for.
  package static let posixDefaultName = "system.posix_acl_default"
  /// Our own name for Apple's list, which the system reads and writes with separate calls.
  static let appleName = "daybook.acl"
  /// The lists for the file itself. No system has both.
  static let ofFiles = [posixName, appleName]

  package static func isName(_ name: String) -> Bool { name.hasPrefix("system.") || name == appleName }

  /// Whether a list lets anybody read or write whom another one, or none, does not. What it gives through its mask is in the mode.
  static func gives(_ list: [UInt8], moreThan other: [UInt8]?) -> Bool {
    guard let other else { return true }
    guard let (given, known) = entries(list).flatMap({ given in entries(other).map { (given, $0) } }) else {
      return list != other
    }
    return given.contains { who, rights in rights & 6 & ~(known[who] ?? 0) != 0 }
  }

  /// The rights of the owner's group and of those whom a POSIX list names, by tag and number; nil for any other list.
  private static func entries(_ list: [UInt8]) -> [[UInt8]: UInt8]? {
    guard list.count >= 4, Array(list[..<4]) == [2, 0, 0, 0], list.count % 8 == 4 else { return nil }
    var found: [[UInt8]: UInt8] = [:]
    for index in stride(from: 4, to: list.count, by: 8) where [2, 4, 8].contains(list[index]) {
      found[Array(list[index..<index + 2] + list[index + 4..<index + 8])] = list[index + 2]
    }
    return found
  }

  /// A POSIX list that lets everyone enter who may read.
  ///
  ///     offset  size  field
  ///          0     4  version, 2
  ///      4+8×n     2  tag: owner, user, group, …
  ///      6+8×n     2  rights: 4 read, 2 write, 1 enter
  ///      8+8×n     4  who
  ///
  /// Little-endian. A list of another version is returned as it is.
  static func entering(_ list: [UInt8]) -> [UInt8] {
    guard list.count >= 4, Array(list[..<4]) == [2, 0, 0, 0], list.count % 8 == 4 else { return list }
    var list = list
    for index in stride(from: 6, to: list.count, by: 8) where list[index] & 4 != 0 { list[index] |= 1 }
    return list
  }
}
