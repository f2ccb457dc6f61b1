/// The names under which folders are made before they get their own: `SystemFolder.makeFolder`.
///
/// Such a folder is empty as long as it has such a name. Whoever finds one may remove it at any time: if its maker still lives,
/// its rename fails, and it begins again.
package enum UnfinishedName {
  private static let prefix = "daybook-making-"

  static func next() -> String { prefix + hexDigits(.random(in: 0 ... .max)) }

  package static func matches(_ name: String) -> Bool {
    name.hasPrefix(prefix) && name.utf8.count == prefix.utf8.count + 16
      && name.utf8.dropFirst(prefix.utf8.count).allSatisfy { 0x30...0x39 ~= $0 || 0x61...0x66 ~= $0 }
  }
}
