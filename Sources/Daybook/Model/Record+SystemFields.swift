#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine

/// Archives of a record's identity and metadata.
///
///     offset  size  field
///          0     4  "DBSF"
///          4     1  version = 1
///          5     n  a record body without fields and without a previous version
///      5 + n     4  FNV-1a of everything before, little-endian
extension Record {
  private static let archiveMark: [UInt8] = [0x44, 0x42, 0x53, 0x46, 1]

  /// Identity, type, parent and metadata without any value: what an application keeps beside its own copy of the
  /// data, to save it later as the same record. Changes are not in it.
  public var systemFields: Data {
    let buffer = ByteBuffer(capacity: 256)
    buffer.append(Self.archiveMark)
    body.withBytes { view in
      buffer.append(view[0])
      // Without fields there are neither references nor assets.
      buffer.append(view[1] & ~RecordBody.Flags.ofFields)
      buffer.append(view.slice(2..<30))
      // No previous version: a place in one log means nothing elsewhere.
      buffer.append(zeros: 12)
      buffer.append(view.slice(RecordBody.fixedByteCount..<body.layout.fieldsStart))
    }
    buffer.append(uint16: 0)
    buffer.append(uint32: ShortChecksum.of(buffer.view))
    return Data(buffer.view.array)
  }

  /// A record without values from ``systemFields``. Values that are set then are its changes.
  ///
  /// - Throws: `invalidArguments` when the data is not what `systemFields` gave, or was damaged since.
  public init(systemFields data: Data) throws(DatabaseError) {
    var bytes = [UInt8](data)
    let markCount = Self.archiveMark.count
    let isWhole = UTF8Order.withView(of: bytes) { view in
      view.count > markCount + 4 && view.uint32(at: view.count - 4) == ShortChecksum.of(view.prefix(view.count - 4))
    }
    guard isWhole, bytes.starts(with: Self.archiveMark) else { throw Self.notAnArchive(nil) }
    // Archives of records with assets were once written with the flag that announces them.
    bytes[markCount + 1] &= ~RecordBody.Flags.ofFields
    let body: Result<RecordBody, DatabaseError> = UTF8Order.withView(of: bytes) { view in
      do throws(BodyFault) {
        let body = try RecordBody(copying: view.slice(markCount..<view.count - 4))
        // An archive has no values; a forged one must not bring some along.
        guard body.fieldCount == 0, body.previous == nil else { return .failure(Self.notAnArchive(nil)) }
        return .success(body)
      } catch {
        return .failure(Self.notAnArchive(error))
      }
    }
    self.init(body: try body.get())
  }

  private static func notAnArchive(_ fault: BodyFault?) -> DatabaseError {
    DatabaseError(.invalidArguments, "The data is not the system fields of a record.", cause: fault)
  }

  /// A record with metadata and without changes, from one with changes: what a server answers to a save.
  package init(committing record: Record, metadata: Metadata) throws(DatabaseError) {
    for text in [
      metadata.changeTag, metadata.creatorUserID ?? "", metadata.lastModifiedUserID ?? "",
      metadata.modifiedByDevice ?? "",
    ] where text.utf8.count > Int(UInt16.max) {
      throw DatabaseError(
        .invalidArguments, "Change tag, user and device are at most 65535 bytes.",
        facts: .init(size: text.utf8.count, limit: Int(UInt16.max)))
    }
    let number = ChangeTag.number(metadata.changeTag)
    let modified = metadata.modificationDate.timeIntervalSinceReferenceDate
    let created = metadata.creationDate.timeIntervalSinceReferenceDate
    guard !metadata.changeTag.isEmpty, !modified.isNaN, !created.isNaN else {
      throw DatabaseError(.invalidArguments, "The metadata needs a change tag and dates.")
    }
    let stamp = RecordBodyEncoder.Stamp(
      tag: number ?? .max, tagText: number == nil ? metadata.changeTag : nil, date: modified,
      userID: metadata.lastModifiedUserID.map { Array($0.utf8) },
      deviceID: metadata.modifiedByDevice.map { Array($0.utf8) },
      creation: (created, metadata.creatorUserID.map { Array($0.utf8) }))
    // Content that the server keeps elsewhere may be unknown here; equal bytes are not needed for it.
    let buffer = ByteBuffer(capacity: 512)
    try RecordBodyEncoder.encode(record, stamp: stamp, services: record.body.services, into: buffer)
    do throws(BodyFault) {
      self.init(body: try RecordBody(encoded: buffer.view, services: record.body.services))
    } catch {
      throw DatabaseError(error)
    }
  }
}
