/// A text that is equal to another, and hashed, by its bytes: a key or name in a dictionary.
///
/// As a `String` it would be by letters: a composed and a decomposed "é" would be one key, and a letter of many marks takes the square
/// of their number.
package struct ByteText: Hashable, Sendable {
  package let text: String

  @inline(__always)
  package init(_ text: String) { self.text = text }

  package static func == (first: ByteText, second: ByteText) -> Bool { UTF8Order.equal(first.text, second.text) }

  package func hash(into hasher: inout Hasher) { UTF8Order.combine(text, into: &hasher) }
}
