import Daybook

extension EncodingScope {
  /// Refuses a value within another whose type encrypts properties where it is a record of its own: here nothing of it would be encrypted.
  ///
  /// Asked of each value that encodes itself, so that types which are no records are remembered.
  func checkHidesNothing<T>(_ value: T, _ step: PathStep?) throws {
    let type: Any.Type = Swift.type(of: value)
    if TypeMemory.isKnownToBeNoRecord(type) { return }
    guard let record = type as? any RecordEncodable.Type else { return TypeMemory.isNoRecord(type) }
    for (key, rule) in record.fieldRules {
      guard case .encrypted = rule else { continue }
      let path = pathTexts(step) + [key]
      if isHidden(path) { continue }
      throw RecordCodingError(
        .unsupportedValue,
        "The type encrypts this property in records of its own, and within another value it would be plain: make the value a reference, or encrypt the key that it is under.",
        path: path)
    }
  }

  /// Whether a rule of the type around encrypts a key on the way, whole, or that of a flattened value; or leaves it out.
  private func isHidden(_ path: [String]) -> Bool {
    path.indices.contains { last in
      switch rules[path[...last].joined(separator: ".")] {
      case .encrypted?, .ignored?: true
      default: false
      }
    }
  }
}
