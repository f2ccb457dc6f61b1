import Daybook

/// Refuses an object whose superclass encrypts a property that the rules of its own class forget: it would be stored in plain.
///
/// `fieldRules` of a class take the place of those of its superclass. What superclasses encrypt in records of their own has to be
/// encrypted or left out here, too: by a rule for the key, or for `super` where the superclass encodes there. Asked after the value was
/// encoded, because a class may do without what its superclass encodes.
struct InheritedRules {
  /// The keys that superclasses encrypt and the object's own class does not, each as the names on the way to it.
  private let forgotten: [[String]]

  /// Nil where there is nothing to look for. Types without such superclasses are remembered.
  init?(_ value: some RecordEncodable, _ scope: EncodingScope) {
    let own = type(of: value)
    if TypeMemory.isKnownToInheritNoSecrets(own) { return nil }
    var secrets: Set<String> = []
    var level = own is AnyClass ? Mirror(reflecting: value).superclassMirror : nil
    while let above = level {
      for (key, rule) in (above.subjectType as? any RecordEncodable.Type)?.fieldRules ?? [:] {
        if case .encrypted = rule { secrets.insert(key) }
      }
      level = above.superclassMirror
    }
    if secrets.isEmpty { TypeMemory.inheritsNoSecrets(own) }
    forgotten = secrets.sorted().map { $0.split(separator: ".").map { String($0) } }.filter {
      !SuperclassCheck.isHidden($0, scope.rules)
    }
    if forgotten.isEmpty { return nil }
  }

  /// - Throws: `unsupportedValue` with the path of the first that has got a plain field.
  func check(_ scope: EncodingScope) throws {
    for path in forgotten {
      for way in [path, [PlainKey.superKey.stringValue] + path] where !SuperclassCheck.isHidden(way, scope.rules) {
        let plain = way.indices.first { isPlain(way[...$0], isWhole: $0 == way.count - 1, scope) }
        guard let plain else { continue }
        throw RecordCodingError(
          .unsupportedValue,
          "The superclass encrypts this property, and the object's own class would store it in plain: its fieldRules need the rule, too, or one for super.",
          path: Array(way[...plain]), facts: .init(key: path.joined(separator: ".")))
      }
    }
  }

  /// Whether the value on the way has a plain field, in which everything below it is.
  private func isPlain(_ way: ArraySlice<String>, isWhole: Bool, _ scope: EncodingScope) -> Bool {
    let field = way.map { scope.options.spelling(of: PlainKey(stringValue: $0)) }.joined(separator: "_")
    if scope.fields.keepsEqualValues, !scope.named.contains(field), scope.owners[field] == nil { return false }
    switch scope.fields.record[field] as Record.Value? {
    case nil: return false
    // The mark of a flattened value, or nothing that another is in.
    case .int?: return isWhole
    default: return true
    }
  }
}
