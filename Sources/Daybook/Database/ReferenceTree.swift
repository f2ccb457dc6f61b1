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

  /// Of keys that are ascending, each once.
  init(keys: [[UInt8]]) { self.keys = keys }

  /// Of a body; one that makes no sense points nowhere, as its fields read as nil.
  init(of body: ByteView) {
    guard RecordBody.pointsSomewhere(body), let layout = try? RecordBody.layout(of: body) else { return }
    if let parent = RecordBody.Optionals(of: body, layout: layout).parent { add(parent, .parent) }
    var cursor = FieldCursor(body, layout)
    while let field = cursor.next() {
      guard !field.mark.isEncrypted, let kind = field.mark.kind, kind.isReference else { continue }
      if kind.isList { addList(field.value) } else { add(field.value) }
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

  private mutating func addList(_ bytes: ByteView) {
    var reader = ByteReader(bytes)
    guard let count = reader.uint32(), Int(count) <= reader.remaining else { return }
    for _ in 0..<count {
      guard let raw = reader.varint(), let byteCount = Int(exactly: raw), let element = reader.take(byteCount) else { return }
      add(element)
    }
  }

  /// A reference as `ValueCoding` writes it: action, name count, name, and another zone where the action says so.
  private mutating func add(_ bytes: ByteView) {
    guard bytes.count > 2, bytes[0] <= ReferenceKind.validate.rawValue, bytes.count == 2 + Int(bytes[1]),
      let kind = ReferenceKind(rawValue: bytes[0])
    else { return }
    add(bytes.dropFirst(2), kind)
  }

  private mutating func add(_ target: ByteView, _ kind: ReferenceKind) {
    // The zero byte ends the name in a key.
    guard target.count > 0, !target.contains(0) else { return }
    var key: [UInt8] = []
    key.reserveCapacity(target.count + 2)
    for index in 0..<target.count { key.append(target[index]) }
    key.append(0)
    key.append(kind.rawValue)
    keys.append(key)
  }

  /// Target and kind of one key.
  static func parts(of key: [UInt8]) -> (target: ArraySlice<UInt8>, kind: ReferenceKind) {
    (key.dropLast(2), ReferenceKind(rawValue: key[key.count - 1]) ?? .none)
  }
}

extension ByteView {
  fileprivate func contains(_ byte: UInt8) -> Bool {
    var index = 0
    while index < count {
      if self[index] == byte { return true }
      index += 1
    }
    return false
  }
}
