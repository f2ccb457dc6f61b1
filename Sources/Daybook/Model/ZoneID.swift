import DaybookEngine

/// The identity of a zone, and its bytes in keys on disk.

extension Zone {
  /// The identity of a zone: its name and its owner.
  ///
  /// Compared, hashed and ordered by UTF-8 bytes: a composed and a decomposed "é" name two zones.
  /// In keys on disk it is the name's bytes, a zero byte, and the owner's bytes (none for the default owner).
  public struct ID: Sendable {
    /// The name: 1 to 255 characters, at most 1020 bytes of UTF-8.
    public let name: String
    /// The owner: `__defaultOwner__` for the zones of this user.
    public let owner: String

    static let defaultName = "_defaultZone"
    static let defaultOwner = "__defaultOwner__"

    /// The zone that always exists.
    public static let `default` = ID(unchecked: defaultName, owner: defaultOwner)

    /// The identity of a zone.
    ///
    /// - Parameter owner: nil for this user, as `__defaultOwner__`.
    /// - Throws: `invalidArguments` when the name is empty, too long, contains a NUL, or begins with an underscore
    ///   without being `_defaultZone`; or when the owner is not 1 to 255 printable ASCII characters.
    public init(_ name: String, owner: String? = nil) throws(DatabaseError) {
      if let fault = NameRules.faultOfZoneName(name) { throw fault }
      if let owner, let fault = NameRules.faultOfOwner(owner) { throw fault }
      self.init(unchecked: name, owner: owner ?? Self.defaultOwner)
    }

    init(unchecked name: String, owner: String) {
      self.name = name
      self.owner = owner
    }
  }
}

extension Zone.ID: Hashable, Comparable {
  /// Whether both have the same bytes.
  public static func == (first: Self, second: Self) -> Bool {
    UTF8Order.equal(first.name, second.name) && UTF8Order.equal(first.owner, second.owner)
  }

  /// Ordered by the bytes of the name, then of the owner, the present user before all others: the order in which a database has them.
  public static func < (first: Self, second: Self) -> Bool {
    let order = UTF8Order.compare(first.name, second.name)
    if order != 0 { return order < 0 }
    if first.hasDefaultOwner || second.hasDefaultOwner { return !second.hasDefaultOwner }
    return UTF8Order.compare(first.owner, second.owner) < 0
  }

  /// Hashes the bytes.
  public func hash(into hasher: inout Hasher) {
    UTF8Order.combine(name, into: &hasher)
    UTF8Order.combine(owner, into: &hasher)
  }
}

extension Zone.ID: CustomStringConvertible {
  /// The name, and the owner when it is another user.
  public var description: String { ShownText.escaped(hasDefaultOwner ? name : "\(name) of \(owner)") }
}

extension Zone.ID: Codable {
  private enum CodingKeys: String, CodingKey { case name, owner }

  /// Decodes and checks as `init` does; a refused name is a `DecodingError` with the `DatabaseError` underneath.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let name = try container.decode(String.self, forKey: .name)
    let owner = try container.decodeIfPresent(String.self, forKey: .owner)
    do throws(DatabaseError) {
      try self.init(name, owner: owner)
    } catch { throw DecodingError(error, decoder) }
  }

  /// Encodes name and owner.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(name, forKey: .name)
    try container.encode(owner, forKey: .owner)
  }
}

extension Zone.ID {
  var hasDefaultOwner: Bool { UTF8Order.equal(owner, Self.defaultOwner) }

  /// The default zone's bytes on disk; in the memory of the program, so a view of them is always valid.
  static let defaultKeyText: StaticString = "_defaultZone\0"

  static var defaultKey: ByteView {
    // Safe: the text of a StaticString lives as long as the program.
    unsafe ByteView(UnsafeRawPointer(defaultKeyText.utf8Start), count: defaultKeyText.utf8CodeUnitCount)
  }

  /// Whether bytes are the default zone's.
  @inline(__always)
  static func isDefault(key: ByteView) -> Bool { UTF8Order.equal(key, defaultKey) }

  /// The bytes of this zone in keys on disk.
  package var key: [UInt8] {
    var bytes = Array(name.utf8)
    bytes.append(0)
    if !hasDefaultOwner { bytes.append(contentsOf: owner.utf8) }
    return bytes
  }

  /// Calls `body` with the bytes of this zone in keys on disk; the view ends with the call.
  package func withKey<R>(_ body: (ByteView) -> R) -> R { UTF8Order.withView(of: key, body) }

  /// Whether `key` are this zone's bytes, without making them.
  package func matches(key: ByteView) -> Bool {
    let nameCount = name.utf8.count
    guard key.count > nameCount, key[nameCount] == 0 else { return false }
    guard UTF8Order.withView(of: name, { UTF8Order.equal($0, key.prefix(nameCount)) }) else { return false }
    let rest = key.dropFirst(nameCount + 1)
    return hasDefaultOwner ? rest.isEmpty : UTF8Order.withView(of: owner) { UTF8Order.equal($0, rest) }
  }

  /// Whether `init(key:)` would not throw; quick for ASCII names of this user.
  static func isSound(key: ByteView) -> Bool {
    let last = key.count - 1
    if last > 0, last <= NameRules.maximumZoneByteCount, key[last] == 0, UTF8Order.isASCII(key) {
      var index = 0
      while key[index] != 0 { index += 1 }
      return index == last
    }
    return (try? Zone.ID(key: key)) != nil
  }

  /// The zone of bytes from disk.
  ///
  /// - Throws: a fault when the bytes could not have come from ``key``. The number of characters is not counted
  ///   again, because it depends on the Unicode tables of the system that accepted the name.
  package init(key: ByteView) throws(BodyFault) {
    var nameCount = 0
    while nameCount < key.count, key[nameCount] != 0 { nameCount += 1 }
    guard nameCount > 0, nameCount <= NameRules.maximumZoneByteCount, nameCount < key.count else {
      throw .badZoneKey
    }
    guard let name = UTF8Order.string(key.prefix(nameCount), isValid: false) else { throw .notUTF8 }
    let ownerBytes = key.dropFirst(nameCount + 1)
    if ownerBytes.isEmpty {
      self.init(unchecked: name, owner: Self.defaultOwner)
      return
    }
    guard let owner = UTF8Order.string(ownerBytes, isValid: false), NameRules.faultOfOwner(owner) == nil,
      !UTF8Order.equal(owner, Self.defaultOwner)
    else { throw .badZoneKey }
    self.init(unchecked: name, owner: owner)
  }
}
