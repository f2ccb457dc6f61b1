import Daybook

/// Refuses an object whose own class encrypts a property that is read in plain as what the object is saved as.
///
/// An object that is saved as its superclass is read as that: the record has its type. The rules of the object's own class hold all the same,
/// so its secrets are never plain. But the superclass would look for such a property among the plain fields: it would find nothing, and a
/// save of what it read would put the property there.
enum SuperclassCheck {
  /// - Parameter type: what the object is saved as.
  static func check(
    _ value: some RecordEncodable, as type: any RecordEncodable.Type, _ options: RecordCodingOptions
  ) throws(RecordCodingError) {
    let own: any RecordEncodable.Type = Swift.type(of: value)
    if own as Any.Type == type { return }
    let known = type.fieldRules.merging(options.rules) { _, new in new }
    let rules = own.fieldRules.merging(options.rules) { _, new in new }
    for (key, rule) in rules.sorted(by: { $0.key < $1.key }) {
      let path = key.split(separator: ".").map { String($0) }
      guard case .encrypted = rule, !isHidden(path, known), isRead(path, value, as: type, options) else { continue }
      throw RecordCodingError(
        .unsupportedValue,
        "The object's own class encrypts this property, and the superclass that it is saved as reads it in plain: give the superclass the rule, too.",
        path: path, facts: .init(recordType: type.recordType, key: key))
    }
  }

  /// Whether rules encrypt what is at a path, or leave it out.
  static func isHidden(_ path: [String], _ rules: [String: FieldRule]) -> Bool {
    path.indices.contains { last in
      switch rules[path[...last].joined(separator: ".")] {
      case .encrypted?, .ignored?: true
      default: false
      }
    }
  }

  /// Whether a class, or one of those above it, has the first key of a path; also where it does not tell.
  private static func isRead(
    _ path: [String], _ value: some RecordEncodable, as type: any RecordEncodable.Type, _ options: RecordCodingOptions
  ) -> Bool {
    var level: Mirror? = Mirror(reflecting: value)
    while let mirror = level, mirror.subjectType != type { level = mirror.superclassMirror }
    // One that says of itself what it likes hides its superclasses.
    var classes: [Any.Type] = [type]
    while let above = level?.superclassMirror {
      classes.append(above.subjectType)
      level = above
    }
    return classes.contains { each in
      guard each is any Decodable.Type else { return false }
      guard let keys = KeyProbe.keys(of: each, userInfo: options.userInfo) else { return true }
      return keys.init(stringValue: path.first ?? "") != nil
    }
  }
}
