/// The names under which folders, and files with given rights, are made before they get their own: `SystemFolder.makeFolder`,
/// `SystemFolder.create`.
///
/// What has such a name is empty. Whoever finds one may remove it at any time: if its maker still lives, its rename fails, and it
/// begins again (`retrying`).
package enum UnfinishedName {
  private static let prefix = "daybook-making-"

  static func next() -> String { prefix + hexDigits(.random(in: 0 ... .max)) }

  /// Makes something under such a name; again when another has removed it before it had its own. `.notFound` at last, as where the
  /// directory itself has gone. A collector that never rests beside a maker that seldom runs wins twenty times in a row.
  static func retrying<R>(_ body: () throws(DiskFailure) -> R) throws(DiskFailure) -> R {
    for _ in 0..<(isMutant("give-up-unfinished") ? 0 : 1000) {
      do { return try body() } catch { guard error.kind == .notFound else { throw error } }
    }
    return try body()
  }

  package static func matches(_ name: String) -> Bool {
    name.hasPrefix(prefix) && name.utf8.count == prefix.utf8.count + 16
      && name.utf8.dropFirst(prefix.utf8.count).allSatisfy { 0x30...0x39 ~= $0 || 0x61...0x66 ~= $0 }
  }
}
