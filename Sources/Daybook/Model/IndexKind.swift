/// What the entries of an index are made of.
public enum IndexKind: String, Hashable, Codable, Sendable, CaseIterable {
  /// The values of a field: for equality, ranges, beginnings of texts, elements of lists, and orders.
  case value
  /// The cells of a grid on the earth that a field's places lie in: for places around another one.
  case location
  /// The words of a field's texts: for searches of words.
  case text
}
