import DaybookEngine

/// A zone's tree by reference target: who points at a record, and why.
///
///     key     target's name, 0, u8 kind, source's name
///     value   nothing
///
/// A record that points to the same target in several fields has one entry for each kind. "Who owns X" and "who needs X"
/// are neighbouring ranges, because the kinds that need their target stand side by side. The target need not exist. Source
/// and target are in the same zone; a reference that leads elsewhere has no entry.
///
/// Always true: the entries of a source are those of its present body, and only records that exist are sources.
enum ReferenceTree: ContributedTree {
  @inline(__always)
  static func mayContribute(flags: UInt8) -> Bool { RecordBody.Flags.pointSomewhere(flags) }

  static func contribute(_ version: RecordVersion, to entries: ContributionList) {
    guard var cursor = ReferenceCursor(version.body) else { return }
    while let reference = cursor.next() {
      entries.bytes.append(reference.target)
      entries.bytes.append(0)
      entries.bytes.append(reference.kind.rawValue)
      entries.bytes.append(version.name)
      entries.add()
    }
  }

  static func recordName(in key: ByteView) -> ByteView? {
    // The first zero ends the target; the kind behind it may be another one.
    guard let end = key.firstIndex(of: 0), end + 2 < key.count else { return nil }
    return key.dropFirst(end + 2)
  }
}

/// Why a record points at another.
enum ReferenceKind: UInt8, CaseIterable {
  // The numbers are on disk, and those of actions are the ones in a body.
  case none = 0
  case deleteSelf = 1
  case validate = 2
  case parent = 3

  /// The kinds whose target must exist.
  static let needing = ReferenceKind.validate.rawValue...ReferenceKind.parent.rawValue
  /// All of them.
  static let all = ReferenceKind.none.rawValue...ReferenceKind.parent.rawValue

  var needsTarget: Bool { ReferenceKind.needing.contains(rawValue) }
}

/// Where a record points within its zone: {target's name, 0, kind} for each, ascending, each once.
struct ReferenceSet {
  private(set) var keys: [[UInt8]] = []

  init() {}

  /// Of a body; one that makes no sense points nowhere, as its fields read as nil.
  init(of body: ByteView) {
    guard var cursor = ReferenceCursor(body) else { return }
    while let reference = cursor.next() {
      keys.append(reference.target.array + [0, reference.kind.rawValue])
    }
    if keys.count > 1 { sort() }
  }

  /// What stands here and not in `other`.
  func subtracting(_ other: ReferenceSet) -> [[UInt8]] {
    if other.keys.isEmpty { return keys }
    var rest: [[UInt8]] = []
    var index = 0
    for key in keys {
      while index < other.keys.count, other.keys[index].lexicographicallyPrecedes(key) { index += 1 }
      if index == other.keys.count || other.keys[index] != key { rest.append(key) }
    }
    return rest
  }

  private mutating func sort() {
    keys.sort { $0.lexicographicallyPrecedes($1) }
    var count = 1
    for index in 1..<keys.count where keys[index] != keys[count - 1] {
      keys[count] = keys[index]
      count += 1
    }
    keys.removeSubrange(count...)
  }

  /// Target and kind of one key.
  static func parts(of key: [UInt8]) -> (target: ArraySlice<UInt8>, kind: ReferenceKind) {
    (key.dropLast(2), ReferenceKind(rawValue: key[key.count - 1]) ?? .none)
  }
}

/// A walk over what a body points at within its zone: its parent, then its references in the order of its fields; some of it
/// maybe several times.
struct ReferenceCursor {
  private var parent: ByteView?
  private var fields: FieldCursor
  /// The list that it is in.
  private var list: ByteReader?
  private var listCount: UInt32 = 0

  /// Nil when the body says that it points nowhere, or makes no sense.
  init?(_ body: ByteView) {
    guard RecordBody.pointsSomewhere(body), let layout = try? RecordBody.layout(of: body) else { return nil }
    parent = RecordBody.Optionals(of: body, layout: layout).parent
    fields = FieldCursor(body, layout)
  }

  mutating func next() -> (target: ByteView, kind: ReferenceKind)? {
    if let target = parent {
      parent = nil
      if Self.isName(target) { return (target, .parent) }
    }
    while true {
      if let element = nextOfList() {
        if let reference = Self.reference(element) { return reference }
        continue
      }
      guard let field = fields.next() else { return nil }
      guard !field.mark.isEncrypted, let kind = field.mark.kind, kind.isReference else { continue }
      if kind.isList {
        var reader = ByteReader(field.value)
        guard let count = reader.uint32(), Int(count) <= reader.remaining else { continue }
        listCount = count
        list = reader
      } else if let reference = Self.reference(field.value) {
        return reference
      }
    }
  }

  private mutating func nextOfList() -> ByteView? {
    if listCount == 0 { return nil }
    listCount -= 1
    if let raw = list?.varint(), let byteCount = Int(exactly: raw), let element = list?.take(byteCount) { return element }
    listCount = 0
    return nil
  }

  /// A reference as `ValueCoding` writes it: action, name count, name, and another zone where the action says so.
  private static func reference(_ bytes: ByteView) -> (target: ByteView, kind: ReferenceKind)? {
    guard bytes.count > 2, bytes[0] <= ReferenceKind.validate.rawValue, bytes.count == 2 + Int(bytes[1]),
      let kind = ReferenceKind(rawValue: bytes[0]), isName(bytes.dropFirst(2))
    else { return nil }
    return (bytes.dropFirst(2), kind)
  }

  /// The zero byte ends the name in a key.
  private static func isName(_ target: ByteView) -> Bool {
    var index = 0
    while index < target.count, target[index] != 0 { index += 1 }
    return index > 0 && index == target.count
  }
}
