import Daybook

/// Why a value did not become a record, or a record a value: a stable code, a fixed sentence, and where.
///
/// Values are never in it, but ``cause`` may hold some: an `EncodingError` has the value that it refuses.
public struct RecordCodingError: Error, Sendable {
  /// What happened. More may be added.
  public enum Code: String, Sendable, Hashable, CaseIterable {
    /// No field can hold the value.
    case unsupportedValue
    /// The field or the record is larger than the limit; an asset does not count.
    case tooLarge
    /// The key is not a valid name of a field.
    case invalidKey
    /// A rule of the type is for a key that it does not have.
    case ruleWithoutKey
    /// Two keys of the value have one field.
    case keyCollision
    /// The record has no field for the key.
    case keyNotFound
    /// There is nothing where a value must be.
    case valueNotFound
    /// The field has a value of another kind.
    case typeMismatch
    /// The field's value is not a valid one.
    case dataCorrupted
    /// The system fields are not those of a record, or of a record of another type.
    case invalidSystemFields
    /// The record is of another type than the value.
    case recordTypeMismatch
    /// Name or type of the record are not valid.
    case invalidIdentity
    /// The record that a reference points to does not exist.
    case recordNotFound
    /// A value would have to contain itself.
    case cycle
    /// Two different values have the same record name.
    case conflictingValues
    /// Values are nested too deeply.
    case tooDeep
    /// The database refused; see ``RecordCodingError/cause``.
    case database
    /// The type's own code threw; see ``RecordCodingError/cause``.
    case other
  }

  private struct Parts: Sendable {
    let code: Code
    let message: String
    let path: [String]
    let facts: DatabaseError.Facts
    let cause: (any Error)?
  }

  private let parts: Box<Parts>

  /// An error with its parts.
  public init(
    _ code: Code, _ message: String, path: [String] = [], facts: DatabaseError.Facts = .init(), cause: (any Error)? = nil
  ) {
    parts = Box(Parts(code: code, message: message, path: path, facts: facts, cause: cause))
  }

  /// What happened, as a stable code.
  public var code: Code { parts.content.code }
  /// What happened, as a sentence that never changes with the data.
  public var message: String { parts.content.message }
  /// Where: the coding keys from the value down, a place in a list as its number. Empty for the value itself.
  public var path: [String] { parts.content.path }
  /// What differed this time: key, size, limit, what was expected and found, the target of a reference.
  public var facts: DatabaseError.Facts { parts.content.facts }
  /// The error underneath, when there was one.
  public var cause: (any Error)? { parts.content.cause }
}

extension RecordCodingError: CustomStringConvertible {
  /// Code, sentence, path and facts on one line.
  public var description: String {
    var text = "\(code.rawValue): \(message)"
    var parts: [String] = []
    if !path.isEmpty { parts.append("path: \(path.joined(separator: "."))") }
    let facts = facts.description
    if !facts.isEmpty { parts.append(facts) }
    if !parts.isEmpty { text += " (\(parts.joined(separator: ", ")))" }
    // Of other causes the text may hold values.
    if let cause = cause as? DatabaseError { text += " Cause: \(cause)" }
    return text
  }
}

extension RecordCodingError {
  /// The error to throw at the door for one that was thrown inside: ours and the standard library's, what a database threw, and
  /// what a type's own code did.
  init(_ error: any Error, in path: [String] = []) {
    switch error {
    case let error as RecordCodingError: self = error
    case let error as DecodingError: self.init(error)
    case let error as EncodingError:
      var found: [any CodingKey] = []
      if case .invalidValue(_, let context) = error { found = context.codingPath }
      self.init(.unsupportedValue, "The type refused to encode a value.", path: Self.texts(found), cause: error)
    case let error as DatabaseError:
      self.init(.database, "The database refused.", path: path, facts: error.facts, cause: error)
    default: self.init(.other, "The type's own code threw an error.", path: path, cause: error)
    }
  }

  /// What `DecodingError.keyNotFound` says of a key of the record, and of one within JSON: rules are for the former.
  static let noField = "The record has no field for the key."
  static let noMember = "The JSON has no member for the key."
  static let isEncrypted = "The record has an encrypted value of the key."

  private init(_ error: DecodingError) {
    switch error {
    case .typeMismatch(let type, let context):
      self.init(
        .typeMismatch, "The field has a value of another kind.", path: Self.texts(context.codingPath),
        facts: .init(expected: "\(type)", found: context.debugDescription), cause: error)
    case .valueNotFound(let type, let context):
      self.init(
        .valueNotFound, "There is nothing where a value must be.", path: Self.texts(context.codingPath),
        facts: .init(expected: "\(type)"), cause: error)
    case .keyNotFound(let key, let context):
      let sentence =
        switch context.debugDescription {
        case Self.noMember:
          "The stored JSON has no member for the key; a property that older values lack is optional, or its type's init(from:) gives it one."
        case Self.isEncrypted: "The record has an encrypted value of the key, which the rule .encrypted reads."
        default:
          "The record has no field for the key; a property that older records lack is optional, or has a default in fieldRules."
        }
      self.init(
        .keyNotFound, sentence,
        path: Self.texts(context.codingPath) + [key.stringValue],
        facts: .init(key: key.stringValue), cause: error)
    case .dataCorrupted(let context):
      self.init(
        .dataCorrupted, "The field's value is not a valid one.", path: Self.texts(context.codingPath), cause: error)
    @unknown default: self.init(.other, "The type's own code threw an error.", cause: error)
    }
  }

  static func texts(_ path: [any CodingKey]) -> [String] {
    path.map { key in key.intValue.map { String($0) } ?? key.stringValue }
  }
}
