import Daybook

/// What the superclasses of an object encrypt in records of their own.
///
/// `fieldRules` of a class take the place of those of its superclass. One that forgets what the superclass encrypts would store it in
/// plain, wherever its code encodes the superclass: so it is refused by its rules, whatever is encoded. The rules of a class that does
/// without say so: `"super": .ignored`.
enum InheritedRules {
  /// Refuses an object whose rules neither encrypt nor leave out what superclasses encrypt.
  /// - Parameter rules: of the object's own class, and of the options.
  /// - Returns: what superclasses encrypt; nil for nothing.
  static func check(_ own: any RecordEncodable.Type, _ rules: [String: FieldRule]) throws(RecordCodingError) -> [String]? {
    if TypeMemory.isKnownToInheritNoSecrets(own) { return nil }
    let secrets = secrets(above: own).sorted()
    if secrets.isEmpty {
      TypeMemory.inheritsNoSecrets(own)
      return nil
    }
    if SuperclassCheck.isHidden([PlainKey.superKey.stringValue], rules) { return secrets }
    for key in secrets where !SuperclassCheck.isHidden(key.split(separator: ".").map { String($0) }, rules) {
      throw RecordCodingError(
        .unsupportedValue,
        "The superclass encrypts this property, and the fieldRules of the object's own class do not: they need the rule, too, or one for super.",
        path: [key], facts: .init(recordType: own.recordType, key: key))
    }
    return secrets
  }

  /// The keys that superclasses of a type encrypt. A mirror of an object would tell what superclasses its class wants it to have
  /// (`CustomReflectable`).
  static func secrets(above type: any RecordEncodable.Type) -> Set<String> {
    var secrets: Set<String> = []
    var level: AnyClass? = type as? AnyClass
    while let own = level, let above = _getSuperclass(own) {
      for (key, rule) in (above as? any RecordEncodable.Type)?.fieldRules ?? [:] {
        if case .encrypted = rule { secrets.insert(key) }
      }
      level = above
    }
    return secrets
  }
}
