import Daybook

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What both sides last agreed on of one record: the base of three-way merges.
///
/// A record has changes to send when its change tag here is not ``localTag``; what changed are the fields whose digest is another
/// one. The values themselves are not kept twice: an ancestor comes from the record's history, as long as that has it.
///
///     offset  size  field
///          0     1  version = 1
///          1     4  generation, little-endian
///          5     …  localTag, originTag, serverTag: each 2 bytes of length, then UTF-8
///          …     …  system fields of the server's version: 4 bytes of length, then ``Record/systemFields``
///          …     …  1, change tag here, and 8 bytes of date: since when changes of the user are in a merged version; else 0
///          …     …  4 bytes: how many fields; each 1 byte of space, 1 byte of length, the key, 8 bytes of digest
struct MergeBase: Equatable, Sendable {
  /// The change tag here of the version that both have; empty where there is none.
  var localTag: String
  /// The change tag of the oldest version here that may have been sent since; empty for all of the record's history.
  var originTag: String
  /// The server's change tag of it.
  var serverTag: String
  /// What the server knows the record by: ``Record/systemFields`` of its version.
  var systemFields: Data
  /// Which reading of the zone from its beginning has seen the record last.
  var generation: UInt32
  /// A version that a merge saved here, and when the user changed what is in it and not yet on the server: its own date is that
  /// of the merge.
  var merged: Merged?
  var fields: [FieldName: FieldDigest]

  struct Merged: Equatable, Sendable {
    let tag: String
    let editDate: Date
  }

  static func == (first: MergeBase, second: MergeBase) -> Bool {
    first.localTag == second.localTag && first.originTag == second.originTag && first.serverTag == second.serverTag
      && first.systemFields == second.systemFields
      && first.generation == second.generation && first.merged == second.merged && first.fields == second.fields
  }
}

extension MergeBase {
  private static let version: UInt8 = 1

  /// As it is stored.
  var data: Data {
    var bytes: [UInt8] = [Self.version]
    func append(_ number: UInt64, _ byteCount: Int) {
      for index in 0..<byteCount { bytes.append(UInt8(truncatingIfNeeded: number >> UInt64(8 * index))) }
    }
    func append(_ text: String) {
      append(UInt64(text.utf8.count), 2)
      bytes += text.utf8
    }
    append(UInt64(generation), 4)
    append(localTag)
    append(originTag)
    append(serverTag)
    append(UInt64(systemFields.count), 4)
    bytes += systemFields
    bytes.append(merged == nil ? 0 : 1)
    if let merged {
      append(merged.tag)
      append(merged.editDate.timeIntervalSinceReferenceDate.bitPattern, 8)
    }
    append(UInt64(fields.count), 4)
    for (name, digest) in fields {
      bytes.append(name.space.rawValue)
      bytes.append(UInt8(name.key.utf8.count))
      bytes += name.key.utf8
      append(digest.bits, 8)
    }
    return Data(bytes)
  }

  /// Nil for bytes that are none: a later version's, or damaged ones.
  init?(_ data: Data) {
    var rest = [UInt8](data)[...]
    func bytes(_ count: Int) -> ArraySlice<UInt8>? {
      guard rest.count >= count else { return nil }
      defer { rest = rest.dropFirst(count) }
      return rest.prefix(count)
    }
    func number(_ count: Int) -> UInt64? {
      bytes(count)?.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
    func text(_ lengthByteCount: Int) -> String? {
      number(lengthByteCount).flatMap { bytes(Int($0)) }.flatMap { String(validating: $0, as: UTF8.self) }
    }
    guard number(1) == UInt64(Self.version), let generation = number(4), let localTag = text(2), let originTag = text(2),
      let serverTag = text(2), let systemFields = number(4).flatMap({ bytes(Int($0)) }), let hasMerged = number(1)
    else { return nil }
    self.generation = UInt32(generation)
    self.localTag = localTag
    self.originTag = originTag
    self.serverTag = serverTag
    self.systemFields = Data(systemFields)
    if hasMerged == 1 {
      guard let tag = text(2), let bits = number(8) else { return nil }
      merged = Merged(tag: tag, editDate: Date(timeIntervalSinceReferenceDate: Double(bitPattern: bits)))
    }
    guard let count = number(4) else { return nil }
    fields = [:]
    for _ in 0..<count {
      guard let space = number(1).flatMap({ FieldName.Space(rawValue: UInt8($0)) }), let key = text(1), let bits = number(8)
      else { return nil }
      fields[FieldName(space: space, key: key)] = FieldDigest(bits: bits)
    }
    guard rest.isEmpty else { return nil }
  }
}
