/// The two forms of a change tag: a number in the log, a short text outside.
///
/// Base 36 keeps the text within 13 characters, which Swift stores without allocating.
package enum ChangeTag {
  package static func text(_ number: UInt64) -> String { UTF8Order.base36(number) }

  /// The number of a text that `text` made; nil for tags of other servers.
  package static func number(_ text: String) -> UInt64? {
    guard let number = UInt64(text, radix: 36), number != 0, number != .max,
      UTF8Order.equal(Self.text(number), text)
    else { return nil }
    return number
  }
}
