/// A decoder that is asked for a container once: the type of the keys is all that it is for.
///
/// A type that decodes another one in its own place, as optionals and property wrappers do, has that one's keys.
final class KeyProbe: Decoder {
  struct End: Error {}

  /// A type that tries one value after the other has the keys of one of them.
  private var found: [any CodingKey.Type] = []
  /// Those of objects, of their own class.
  private var ofObjects: [any CodingKey.Type] = []
  private var isOfObject = false
  /// Types of keys, and classes: more than one, where the type tries several.
  private var seenForms: Set<ObjectIdentifier> = []
  private var hasUnknownForm = false
  /// An object may have keys of superclasses, too.
  private var mayHaveOthers = false
  /// The keys, where there are no others.
  var keys: (any CodingKey.Type)? { mayHaveOthers || found.count > 1 ? nil : found.first }
  /// A list was asked for, or a value that has no keys.
  private var isWithoutKeys = false
  /// Wrappers may be within wrappers, and a type may decode itself.
  private var depth = 0
  private static let maximumDepth = 8
  let codingPath: [any CodingKey] = []
  let userInfo: [CodingUserInfoKey: Any]

  init(userInfo: [CodingUserInfoKey: Any]) { self.userInfo = userInfo }

  /// The keys that values of a type have; nil where that is not known.
  static func keys(of type: Any.Type?, userInfo: [CodingUserInfoKey: Any]) -> (any CodingKey.Type)? {
    probe(type, userInfo)?.keys
  }

  /// Whether values of a type are known to have no keys.
  static func hasNoKeys(_ type: Any.Type?, userInfo: [CodingUserInfoKey: Any]) -> Bool {
    probe(type, userInfo).map { $0.found.isEmpty && !$0.mayHaveOthers && $0.isWithoutKeys } ?? false
  }

  /// The keys of each form of a type that tries one value after the other; empty where it has one. Nil is a form whose keys are not known:
  /// an object's that has a superclass with keys, or tells none.
  static func forms(of type: Any.Type?, userInfo: [CodingUserInfoKey: Any]) -> [(any CodingKey.Type)?] {
    guard let type, !(type is AnyClass), !(userInfo.isEmpty && TypeMemory.isKnownToHaveOneForm(type)) else { return [] }
    if let probe = probe(type, userInfo), probe.seenForms.count > 1 {
      return probe.found + probe.ofObjects + (probe.hasUnknownForm ? [nil] : [])
    }
    // What a type tries may depend on it.
    if userInfo.isEmpty { TypeMemory.hasOneForm(type) }
    return []
  }

  private static func probe(_ type: Any.Type?, _ userInfo: [CodingUserInfoKey: Any]) -> KeyProbe? {
    guard let type = type as? any Decodable.Type else { return nil }
    let probe = KeyProbe(userInfo: userInfo)
    probe.look(at: type)
    return probe
  }

  private func look<T: Decodable>(at type: T.Type) {
    if FieldDecoder.isLeaf(type) || T.self is any ListOfElements.Type && !(T.self is any OptionalValue.Type) {
      isWithoutKeys = true
    } else {
      _ = try? T(from: self)
    }
  }

  /// A type decodes another one in its place.
  fileprivate func see<T: Decodable>(_ type: T.Type) {
    guard depth < Self.maximumDepth else { return mayHaveOthers = true }
    depth += 1
    defer { depth -= 1 }
    guard let object = type as? AnyClass else { return look(at: type) }
    mayHaveOthers = true
    seenForms.insert(ObjectIdentifier(type))
    let (wasOfObject, count) = (isOfObject, ofObjects.count)
    isOfObject = true
    look(at: type)
    isOfObject = wasOfObject
    // A superclass is not asked: it may be one that is never decoded as itself.
    if ofObjects.count == count || _getSuperclass(object) is any Decodable.Type { hasUnknownForm = true }
  }

  fileprivate func seeNoKeys() { isWithoutKeys = true }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    if isOfObject {
      if !ofObjects.contains(where: { $0 == type }) { ofObjects.append(type) }
    } else {
      seenForms.insert(ObjectIdentifier(type))
      if !found.contains(where: { $0 == type }) { found.append(type) }
    }
    throw End()
  }
  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    seeNoKeys()
    throw End()
  }
  func singleValueContainer() throws -> any SingleValueDecodingContainer { KeyProbeValue(probe: self) }
}

/// There is no value, only what type it is asked for as.
private struct KeyProbeValue: SingleValueDecodingContainer {
  let probe: KeyProbe
  var codingPath: [any CodingKey] { [] }

  private func single<T>() throws -> T {
    probe.seeNoKeys()
    throw KeyProbe.End()
  }

  func decodeNil() -> Bool { false }
  func decode(_ type: Bool.Type) throws -> Bool { try single() }
  func decode(_ type: String.Type) throws -> String { try single() }
  func decode(_ type: Double.Type) throws -> Double { try single() }
  func decode(_ type: Float.Type) throws -> Float { try single() }
  func decode(_ type: Int.Type) throws -> Int { try single() }
  func decode(_ type: Int8.Type) throws -> Int8 { try single() }
  func decode(_ type: Int16.Type) throws -> Int16 { try single() }
  func decode(_ type: Int32.Type) throws -> Int32 { try single() }
  func decode(_ type: Int64.Type) throws -> Int64 { try single() }
  func decode(_ type: Int128.Type) throws -> Int128 { try single() }
  func decode(_ type: UInt.Type) throws -> UInt { try single() }
  func decode(_ type: UInt8.Type) throws -> UInt8 { try single() }
  func decode(_ type: UInt16.Type) throws -> UInt16 { try single() }
  func decode(_ type: UInt32.Type) throws -> UInt32 { try single() }
  func decode(_ type: UInt64.Type) throws -> UInt64 { try single() }
  func decode(_ type: UInt128.Type) throws -> UInt128 { try single() }
  func decode<T: Decodable>(_ type: T.Type) throws -> T {
    probe.see(type)
    throw KeyProbe.End()
  }
}
