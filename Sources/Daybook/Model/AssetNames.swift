import DaybookEngine

/// Which asset files a record body refers to: what the database counts, collects and copies.
///
///     asset      {u8 flags: 1 SHA-256, 2 content; [32 SHA-256]; u64 size; [content]}     named: flags = 1
///     list       {u32 count; for each: varint length, asset}
///
/// Works on untrusted bytes: what is malformed refers to nothing. A body says by a flag of its own whether it refers to any, so
/// all others cost one look at one byte.
enum AssetNames {
  struct Name: Hashable {
    let digest: AssetDigest
    let byteCount: UInt64
  }

  /// Whether the body says that it refers to any.
  @inline(__always)
  static func areIn(_ body: ByteView) -> Bool { RecordBody.flags(of: body) & RecordBody.Flags.assets != 0 }

  /// Whether a field refers to any.
  @inline(__always)
  static func areIn(_ field: FieldCursor.Field) -> Bool {
    let kind = field.mark.rawValue & 0x3F
    guard kind == FieldKind.asset.rawValue || kind == FieldKind.assets.rawValue else { return false }
    return !names(in: field).isEmpty
  }

  /// All that a body refers to, in its order, repeated ones repeated.
  static func names(in body: ByteView) -> [Name] {
    guard areIn(body), let layout = try? RecordBody.layout(of: body) else { return [] }
    var cursor = FieldCursor(body, layout)
    var result: [Name] = []
    while let field = cursor.next() { result += names(in: field) }
    return result
  }

  private static func names(in field: FieldCursor.Field) -> [Name] {
    guard !field.mark.isSealed else { return [] }
    switch field.mark.kind {
    case .asset: return name(field.value).map { [$0] } ?? []
    case .assets:
      var reader = ByteReader(field.value)
      guard let count = reader.uint32(), Int(count) <= reader.remaining else { return [] }
      var result: [Name] = []
      for _ in 0..<count {
        guard let length = reader.varint(), let byteCount = Int(exactly: length), let element = reader.take(byteCount) else {
          return result
        }
        if let name = name(element) { result.append(name) }
      }
      return result
    default: return []
    }
  }

  private static func name(_ bytes: ByteView) -> Name? {
    guard bytes.count == 1 + AssetDigest.byteCount + 8, bytes[0] == 1 else { return nil }
    return Name(
      digest: AssetDigest(bytes.slice(1..<1 + AssetDigest.byteCount)), byteCount: bytes.uint64(at: 1 + AssetDigest.byteCount))
  }
}

extension Record.Value {
  /// Whether the value refers to an asset that will not be in the record.
  var namesAssets: Bool {
    switch self {
    case .asset(let asset): asset.data == nil
    case .assets(let list): list.contains { $0.data == nil }
    default: false
    }
  }
}

extension RecordBody {
  /// Whether a field refers to an asset that is not in the body.
  var namesAssets: Bool { withBytes { AssetNames.areIn($0) } }
}
