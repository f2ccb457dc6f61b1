import Daybook

/// Another set of names on top of this one, whose values become fields in ways that no option describes. With a layer,
/// `systemFields` and the key of the record's name are keys like others.
package protocol CodingLayer: Sendable {
  /// The value of a field for a value of any type; nil leaves it to the options.
  func fieldValue(of value: Any, forKey field: String) throws -> Record.Value?

  /// The text for a value that is none, where a text is asked for; nil where there is none.
  func text(of value: Record.Value) -> String?

  /// A value of a type for the value of a field; nil leaves it to the options.
  func value<T>(of type: T.Type, from value: Record.Value, _ path: [any CodingKey]) throws -> T?
}
