import Daybook

/// Reading goes by the fields alone: what would not be found again is not written.
extension EncodingScope {
  /// A key of a flattened value must not be taken for another one, as it may be where a type takes nearly any text for a key.
  /// - Parameter isOfEnum: the key is that of a case, which decoding does not ask for by its name.
  func checkIsFound(_ target: FieldTarget, isOfEnum: Bool) throws {
    guard options.isField(target.field, below: target.above) else { throw isOfAnotherKey(target) }
    guard isOfEnum || target.above != nil && !options.hasPlainKeys else { return }
    guard let found = options.keyFound(for: target.key) else {
      // Other keys are asked for by their names.
      if !isOfEnum { return }
      throw target.error(
        .invalidKey, "The case is not found by the spelling of its key; the CodingKeys of the enum can be CaseIterable.")
    }
    if !UTF8Order.equal(found.stringValue, target.key.stringValue) { throw isOfAnotherKey(target) }
  }

  private func isOfAnotherKey(_ target: FieldTarget) -> RecordCodingError {
    target.error(.keyCollision, "The field of the key would be read as one of another key.")
  }

  /// After the whole value was encoded.
  /// - Parameter paths: its fields, with the paths of their keys.
  func checkAreFound(_ paths: [String: [String]]) throws(RecordCodingError) {
    guard let misread = flattened?.misread(paths) else { return }
    throw RecordCodingError(
      .keyCollision, "The field of the key would be read as one of another value.", path: misread.path,
      facts: .init(key: misread.field, found: misread.other.joined(separator: ".")))
  }
}
