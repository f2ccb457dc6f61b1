import Daybook

/// Which kinds the values of keys have in a database: text in the place of a number is found by no condition on numbers.
extension [Schema.RecordType] {
  /// The kinds that a key of a type has so far, if a value of another kind is not compared with them; nil for a new key.
  func otherKinds(of key: String, in type: String, than kind: String) -> [String]? {
    let fields = first { UTF8Order.equal($0.name, type) }?.fields ?? []
    let known = fields.first { UTF8Order.equal($0.key, key) && !$0.isEncrypted }?.kinds.map(\.rawValue) ?? []
    return known.isEmpty || known.contains { Self.areCompared($0, kind) } ? nil : known
  }

  /// Whole numbers and others are compared with each other.
  static func areCompared(_ first: String, _ second: String) -> Bool {
    func group(_ kind: String) -> String { kind == "int" ? "double" : kind == "ints" ? "doubles" : kind }
    return group(first) == group(second)
  }
}
