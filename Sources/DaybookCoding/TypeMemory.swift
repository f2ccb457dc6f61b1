import Daybook
import Synchronization

/// What is found out about types once and not for each value.
enum TypeMemory {
  // MARK: names

  private static let names = Mutex<[ObjectIdentifier: String]>([:])

  /// The bare name of a type. The runtime makes it each time from the name that the linker has.
  static func name<T>(of type: T.Type) -> String {
    let id = ObjectIdentifier(type)
    if let known = names.withLock({ $0[id] }) { return known }
    let name = String(describing: type)
    names.withLock { $0[id] = name }
    return name
  }

  // MARK: system fields

  private static let dropping = RememberedTypes()

  /// The setter that this module gives to types without one was called: no value of the type will ever keep its system fields.
  static func dropsSystemFields<T>(_ type: T.Type) { dropping.insert(type) }

  /// Whether the type is known to keep none, so that none have to be made: four allocations and a checksum for each
  /// value (row: coding-decode).
  static func isKnownToDropSystemFields<T>(_ type: T.Type) -> Bool { dropping.contains(type) }

  // MARK: names of values

  private static let nameless = RememberedTypes()

  /// Nothing in a value of the type is its record's name: it has another one each time it is asked.
  static func hasNoName<T>(_ type: T.Type) { nameless.insert(type) }

  /// Whether the type is known to name none of its values, so that no name has to be compared.
  static func isKnownToHaveNoName<T>(_ type: T.Type) -> Bool { nameless.contains(type) }

  // MARK: values within values

  private static let plain = RememberedTypes()

  /// Values of the type are never records.
  static func isNoRecord(_ type: Any.Type) { plain.insert(UInt(bitPattern: ObjectIdentifier(type))) }

  /// Whether it is known that they are none.
  static func isKnownToBeNoRecord(_ type: Any.Type) -> Bool { plain.contains(UInt(bitPattern: ObjectIdentifier(type))) }

  // MARK: superclasses

  private static let withoutInheritance = RememberedTypes()

  /// No superclass of the type encrypts anything.
  static func inheritsNoSecrets(_ type: Any.Type) { withoutInheritance.insert(UInt(bitPattern: ObjectIdentifier(type))) }

  static func isKnownToInheritNoSecrets(_ type: Any.Type) -> Bool {
    withoutInheritance.contains(UInt(bitPattern: ObjectIdentifier(type)))
  }

  // MARK: enums

  /// Whether a value is an enum's, and not an optional. A mirror would tell what the type wants it to (`CustomReflectable`).
  @inline(__always)
  static func isOfEnum<T>(_ value: borrowing T) -> Bool {
    // Safe: a metatype is the address of what the runtime knows of the type. That begins with a word for the kind of the type, which
    // is part of the ABI (MetadataKind.def in Swift's sources): 0x201 of an enum. Of a class it is an address, or 0.
    unsafe unsafeBitCast(T.self as Any.Type, to: UnsafePointer<UInt>.self).pointee == 0x201
  }

  // MARK: keys

  private static let ofOneForm = RememberedTypes()

  static func isKnownToHaveOneForm(_ type: Any.Type) -> Bool { ofOneForm.contains(UInt(bitPattern: ObjectIdentifier(type))) }
  static func hasOneForm(_ type: Any.Type) { ofOneForm.insert(UInt(bitPattern: ObjectIdentifier(type))) }

  private static let unlisted = RememberedTypes()
  private static let listed = Mutex<[ObjectIdentifier: [any CodingKey]]>([:])

  /// All keys of a type that lists them; none of others, and of those whose keys may be any text. To find out is a cast that looks into
  /// tables, for each value (row: coding-encode).
  @inline(__always)
  static func listedKeys<Key: CodingKey>(_ type: Key.Type) -> [any CodingKey] {
    unlisted.contains(type) ? [] : foundKeys(type)
  }

  private static func foundKeys<Key: CodingKey>(_ type: Key.Type) -> [any CodingKey] {
    if let known = listed.withLock({ $0[ObjectIdentifier(type)] }) { return known }
    guard let all = type as? any CaseIterable.Type, !RecordCodingOptions.isOpen(type) else {
      unlisted.insert(type)
      return []
    }
    let keys: [any CodingKey] = RecordCodingOptions.cases(of: all).compactMap { $0 as? Key }
    listed.withLock { $0[ObjectIdentifier(type)] = keys }
    return keys
  }

  // MARK: rules

  /// The rules of a type, where all that they depend on is the type and whether nested values are flattened: then they are checked once
  /// (``RuleCheck``).
  struct Rules {
    private let id: UInt
    private let isFlattened: Bool

    /// Nil where the rules have to be checked with each value: whether a key within a value has a field may be another thing for each,
    /// and the encoder's own rules change it, too.
    init?(_ type: Any.Type, _ rules: [String: FieldRule], _ options: RecordCodingOptions) {
      guard options.rules.isEmpty, rules.keys.allSatisfy({ !$0.utf8.contains(UInt8(ascii: ".")) }) else { return nil }
      // A type may say other rules the next time.
      let keys = rules.keys.reduce(into: 0) { $0 ^= $1.hashValue }
      id = UInt(bitPattern: ObjectIdentifier(type)) ^ (UInt(bitPattern: keys) << 16)
      isFlattened = options.isFlattened
    }

    private static let checked = RememberedTypes()
    /// With nested values flattened other keys have fields.
    private static let checkedFlattened = RememberedTypes()

    private var memory: RememberedTypes { isFlattened ? Self.checkedFlattened : Self.checked }

    /// Each rule has its key.
    func haveKeys() { memory.insert(id) }

    /// Whether each rule is known to have its key.
    var areKnownToHaveKeys: Bool { memory.contains(id) }
  }
}

/// A set of types that may forget: each is at a slot that follows from its address, and one that another has taken the slot of is
/// only found out again. A question costs one load and one comparison.
private struct RememberedTypes: Sendable {
  private final class Slot: Sendable {
    let type = Atomic<UInt>(0)
  }

  private let slots = (0..<64).map { _ in Slot() }

  @inline(__always)
  private func slot(of id: UInt) -> Slot { slots[Int(truncatingIfNeeded: (id &>> 4 ^ id &>> 10) & 63)] }

  @inline(__always)
  func insert<T>(_ type: T.Type) { insert(UInt(bitPattern: ObjectIdentifier(type))) }

  @inline(__always)
  func contains<T>(_ type: T.Type) -> Bool { contains(UInt(bitPattern: ObjectIdentifier(type))) }

  /// The same for what is known of a type and something else.
  @inline(__always)
  func insert(_ id: UInt) { slot(of: id).type.store(id, ordering: .relaxed) }

  @inline(__always)
  func contains(_ id: UInt) -> Bool { slot(of: id).type.load(ordering: .relaxed) == id }
}
