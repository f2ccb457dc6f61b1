/// Beginnings of texts by their UTF-8 bytes.
///
/// `hasPrefix` and `dropFirst` of a `String` go by characters and canonical equivalence: a composed and a decomposed "é" begin
/// alike, and "/" is no beginning of a text whose slash has a combining mark. To the system, and in names, bytes count.
extension StringProtocol {
  /// What follows a beginning; nil when the bytes begin in another way.
  package func afterBytes(_ beginning: String) -> Substring? {
    guard utf8.starts(with: beginning.utf8) else { return nil }
    return Substring(Substring(self).utf8.dropFirst(beginning.utf8.count))
  }

  package func startsWithBytes(of beginning: String) -> Bool { utf8.starts(with: beginning.utf8) }
}
