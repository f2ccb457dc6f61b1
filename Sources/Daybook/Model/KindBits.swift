/// The kinds of one field as bits: bit 0 to 7 the eight kinds, 8 to 15 lists of them, 16 more for encrypted values.
struct KindBits: Equatable {
  static let plain = KindBits(rawValue: 0x0000_FFFF)
  static let encrypted = KindBits(rawValue: 0xFFFF_0000)
  var rawValue: UInt32

  init(rawValue: UInt32) { self.rawValue = rawValue }

  init(_ kind: FieldKind, isEncrypted: Bool) {
    let bit = UInt32(kind.rawValue & 0x0F) - 1 + (kind.isList ? 8 : 0) + (isEncrypted ? 16 : 0)
    rawValue = 1 << bit
  }

  func contains(_ other: KindBits) -> Bool { rawValue & other.rawValue == other.rawValue }
  func intersects(_ other: KindBits) -> Bool { rawValue & other.rawValue != 0 }
  func union(_ other: KindBits) -> KindBits { KindBits(rawValue: rawValue | other.rawValue) }

  /// The kinds of one of the two namespaces.
  func kinds(isEncrypted: Bool) -> [FieldKind] {
    FieldKind.allCases.filter { contains(KindBits($0, isEncrypted: isEncrypted)) }
  }

  /// For facts of errors: "string or int", "encrypted string".
  var description: String {
    [false, true].flatMap { isEncrypted in
      kinds(isEncrypted: isEncrypted).map { (isEncrypted ? "encrypted " : "") + $0.name }
    }.joined(separator: " or ")
  }
}
