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
///          5     …  localTag, serverTag: each 2 bytes of length, then UTF-8
///          …     …  system fields of the server's version: 4 bytes of length, then ``Record/systemFields``
///          …     …  1, change tag here, and 8 bytes of date: since when changes of the user are in a merged version; else 0
///          …     …  4 bytes: how many fields; each 1 byte of space, 1 byte of length, the key, 8 bytes of digest
struct MergeBase: Equatable, Sendable {
  /// The change tag here of the version that both have; empty where there is none.
  var localTag: String
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
    first.localTag == second.localTag && first.serverTag == second.serverTag
      && first.systemFields == second.systemFields
      && first.generation == second.generation && first.merged == second.merged && first.fields == second.fields
  }
}

extension MergeBase {
  private static let version: UInt64 = 1

  /// As it is stored.
  var data: Data {
    var writer = StateWriter()
    writer.append(Self.version, byteCount: 1)
    writer.append(UInt64(generation), byteCount: 4)
    writer.append(localTag)
    writer.append(serverTag)
    writer.append(systemFields)
    writer.append(merged == nil ? 0 : 1, byteCount: 1)
    if let merged {
      writer.append(merged.tag)
      writer.append(merged.editDate.timeIntervalSinceReferenceDate.bitPattern, byteCount: 8)
    }
    writer.append(fields)
    return Data(writer.bytes)
  }

  /// Nil for bytes that are none: a later version's, or damaged ones.
  init?(_ data: Data) {
    var reader = StateReader(data)
    guard reader.number(byteCount: 1) == Self.version, let generation = reader.number(byteCount: 4),
      let localTag = reader.text(), let serverTag = reader.text(), let systemFields = reader.data(),
      let hasMerged = reader.number(byteCount: 1)
    else { return nil }
    self.generation = UInt32(generation)
    self.localTag = localTag
    self.serverTag = serverTag
    self.systemFields = Data(systemFields)
    if hasMerged == 1 {
      guard let tag = reader.text(), let bits = reader.number(byteCount: 8) else { return nil }
      merged = Merged(tag: tag, editDate: Date(timeIntervalSinceReferenceDate: Double(bitPattern: bits)))
    }
    guard let fields = reader.fields(), reader.isAtEnd else { return nil }
    self.fields = fields
  }
}
