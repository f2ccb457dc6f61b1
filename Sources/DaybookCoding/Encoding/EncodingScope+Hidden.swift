import Daybook

extension EncodingScope {
  /// Refuses a value within another whose type encrypts properties where it is a record of its own: here nothing of it would be encrypted.
  ///
  /// Asked of each value that encodes itself, so that types which are no records are remembered.
  /// - Parameter isInPlace: the value's keys are those of the record.
  func checkHidesNothing<T>(_ value: T, _ step: PathStep?, isInPlace: Bool = false) throws {
    let type: Any.Type = Swift.type(of: value)
    if TypeMemory.isKnownToBeNoRecord(type) { return }
    guard let record = type as? any RecordEncodable.Type else { return TypeMemory.isNoRecord(type) }
    var secrets = InheritedRules.secrets(above: record)
    for case (let key, .encrypted) in record.fieldRules { secrets.insert(key) }
    for key in secrets.sorted() where !isHidden(key, below: step) {
      throw RecordCodingError(
        .unsupportedValue,
        isInPlace
          ? "The type encrypts this property in records of its own, and in the place of another value it would be plain: give the type around it the same fieldRules."
          : "The type encrypts this property in records of its own, and within another value it would be plain: make the value a reference, or encrypt the key that it is under.",
        path: pathTexts(step) + [key])
    }
  }

  /// The encoder of a superclass: what that encrypts is to be hidden here, too, whatever the rules say of keys elsewhere.
  func superEncoder(_ key: some CodingKey, _ above: PathStep?) -> FieldEncoder {
    if inheritedSecrets != nil { checkSuper(step(key, after: above, prefix: "")) }
    return pendingEncoder(key, above)
  }

  /// The same for an encoder below a step. Only of the record's own value: others have superclasses of their own.
  func checkSuper(_ below: PathStep?) {
    guard let inheritedSecrets, depth == 0 else { return }
    for secret in inheritedSecrets where !isHidden(secret, below: below) {
      fail(
        RecordCodingError(
          .unsupportedValue, "The superclass encrypts this property, and it would be plain where the superclass is encoded.",
          path: pathTexts(below) + [secret], facts: .init(key: secret)))
    }
  }

  /// Of what only a rule for `super` hides, nothing may have a field of its own: the class may have encoded its superclass in its own
  /// place nevertheless.
  func check(_ inheritedSecrets: [String]) throws {
    for secret in inheritedSecrets {
      let path = secret.split(separator: ".").map { String($0) }
      if SuperclassCheck.isHidden(path, rules) { continue }
      for last in path.indices {
        let field = path[...last].map { options.spelling(of: PlainKey(stringValue: $0)) }.joined(separator: "_")
        guard isOwn(field), fields.record[field] as Record.Value? != nil else { continue }
        throw RecordCodingError(
          .unsupportedValue, "The superclass encrypts this property, and it has got a plain field.", path: path,
          facts: .init(key: secret))
      }
    }
  }

  /// Whether a rule of the type around encrypts a key on the way, whole, or that of a flattened value; or leaves it out.
  private func isHidden(_ key: String, below step: PathStep?) -> Bool {
    // Of a key of the type's rules that is below another, as in "address.street", the ones above it count, too.
    let parts = key.split(separator: ".").map { String($0) }
    // What is in a list has no field of its own, and so no rule: nil.
    let above = codingPath(step).map { $0 is PlainKey && $0.intValue != nil ? nil : RecordCodingError.texts([$0])[0] }
    var path = ""
    for part in above + parts.dropLast() {
      guard let part else { return false }
      path += part
      switch rules[path] {
      case .encrypted?, .ignored?: return true
      case .flattened?: break
      case nil, .default?: guard case .flattened = options.nested else { return false }
      // The value is whole in one field: no rule reaches into it.
      default: return false
      }
      path += "."
    }
    return switch rules[path + (parts.last ?? "")] {
    case .encrypted?, .ignored?: true
    default: false
    }
  }
}
