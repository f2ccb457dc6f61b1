#if !canImport(CloudKit)
  import Daybook
  import Foundation

  /// Archives of records: of the system fields alone, which an application keeps beside its own copy of the data, and of all.
  ///
  ///     recordType, recordName, zoneName, ownerName      as they were given
  ///     daybook.systemFields                             those of the Daybook record; missing where a name is refused
  ///     daybook.values                                   JSON, or an older property list: `RecordArchive.Values`; only in a whole archive
  ///
  /// Files of assets that were never saved are not in an archive: its author would choose what is read and saved. Saving the
  /// record says so, unless the asset is set again.
  extension CKRecord {
    /// Writes identity, type and metadata without any value or change, for a `NSKeyedArchiver`; the parent as it was read, not one that was
    /// set and not saved.
    public final func encodeSystemFields(with coder: NSCoder) {
      coder.encode(text: recordType, forKey: "recordType")
      recordID.encode(with: coder)
      if let fields = try? content.base.get().systemFields { coder.encode(fields as NSData, forKey: "daybook.systemFields") }
    }

    /// The system fields as data, made with a `NSKeyedArchiver`.
    final var archivedSystemFields: Data {
      let archiver = NSKeyedArchiver(requiringSecureCoding: true)
      // The same bytes each time, for values that are compared: on Linux the binary form has its keys in any order.
      archiver.outputFormat = .xml
      encodeSystemFields(with: archiver)
      archiver.finishEncoding()
      return archiver.encodedData
    }

    /// A record without values from archived system fields; nil when the data is none.
    ///
    /// Foundation's unarchiver ends the program where an archive is damaged, whatever its policy for failures. So the archive is read
    /// as the property list that it is: the system fields are one of its objects, with a mark and a checksum of their own.
    convenience init?(archivedSystemFields data: Data) {
      // Safe: no pointer is passed.
      guard let archive = unsafe try? PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any],
        let objects = archive["$objects"] as? [Any]
      else { return nil }
      for object in objects {
        let bytes = object as? Data ?? (object as? [String: Any])?["NS.data"] as? Data
        if let bytes, let record = try? Record(systemFields: bytes) {
          self.init(record)
          return
        }
      }
      return nil
    }

    final func encodeAll(with coder: NSCoder) {
      encodeSystemFields(with: coder)
      guard let values = content.archivedValues, let data = try? values.json() else { return }
      coder.encode(data as NSData, forKey: "daybook.values")
    }
  }

  /// A record from an archive.
  enum RecordArchive {
    /// All values of a record, and what was changed of them.
    struct Values: Codable {
      var values: [String: Record.Value] = [:]
      var encryptedValues: [String: Record.Value] = [:]
      var changed: [String] = []
      var changedEncrypted: [String] = []
      /// Keys with assets whose files are not archived.
      var files: [String] = []
      /// Keys of values that no field can hold. They are changes, and no removals. Older archives have neither these nor the next two.
      var refused: [String]?
      var refusedEncrypted: [String]?
      /// Name, zone and owner of a parent that is no record's identity.
      var refusedParent: [String]?
      /// Set when the parent was changed.
      var parentIsChanged = false
      var parent: Record.Reference?

      init() {}

      private static let notFinite = (infinity: "inf", negative: "-inf", none: "nan")

      /// JSON: a property list reads the text $null back as nil.
      func json() throws -> Data {
        let encoder = JSONEncoder()
        let names = Self.notFinite
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
          positiveInfinity: names.infinity, negativeInfinity: names.negative, nan: names.none)
        return try encoder.encode(self)
      }

      init(archived data: Data) throws {
        if data.starts(with: "bplist".utf8) {
          self = try PropertyListDecoder().decode(Self.self, from: data)
          return
        }
        let decoder = JSONDecoder()
        let names = Self.notFinite
        decoder.nonConformingFloatDecodingStrategy = .convertFromString(
          positiveInfinity: names.infinity, negativeInfinity: names.negative, nan: names.none)
        self = try decoder.decode(Self.self, from: data)
      }
    }

    struct Content {
      let recordType: String
      let recordID: CKRecord.ID
      let state: RecordState
    }

    static func read(_ coder: NSCoder) -> Content? {
      guard let type = coder.text(forKey: "recordType"), let id = CKRecord.ID(coder: coder) else { return nil }
      let base: Result<Record, DatabaseError>
      if let fields = coder.bytes(forKey: "daybook.systemFields") {
        // The names beside it are those that are shown; forged ones must not differ.
        guard let record = try? Record(systemFields: fields), record.type == type, CKRecord.ID(record.id) == id else {
          return nil
        }
        base = .success(record)
      } else {
        base = Result { () throws(DatabaseError) in try Record(type: type, id: id.daybookID) }
      }
      guard let data = coder.bytes(forKey: "daybook.values") else {
        return Content(recordType: type, recordID: id, state: RecordState(base))
      }
      guard let values = try? Values(archived: data), let state = RecordState(base, values)
      else {
        return nil
      }
      return Content(recordType: type, recordID: id, state: state)
    }
  }

  extension RecordState {
    /// Everything that a whole archive has beside the system fields; nil where there is no record.
    var archivedValues: RecordArchive.Values? {
      var archive = RecordArchive.Values()
      for isEncrypted in [false, true] {
        let changed = changedKeys(isEncrypted: isEncrypted)
        if isEncrypted { archive.changedEncrypted = changed } else { archive.changed = changed }
        var values: [String: Record.Value] = [:]
        var refused: [String] = []
        // What was refused has no value, and a changed key without a value is a removal to who reads the archive.
        for slot in slots(isEncrypted: isEncrypted) {
          switch archivable(slot) {
          // A key that is none is refused whatever is under it.
          case .value(let value) where slot.key.utf8.allSatisfy { $0 < 0x80 }: values[slot.key] = value
          case .file where !isEncrypted: archive.files.append(slot.key)
          case .value, .file, .refused: refused.append(slot.key)
          // Removed; or a stored value that cannot be read here, which no save changes.
          case .nothing: continue
          }
        }
        if isEncrypted {
          (archive.encryptedValues, archive.refusedEncrypted) = (values, refused)
        } else {
          (archive.values, archive.refused) = (values, refused)
        }
      }
      archive.parentIsChanged = parentEdit != nil
      if let parent = parentEdit.flatMap({ $0 }) {
        do throws(DatabaseError) { archive.parent = try parent.daybookReference } catch {
          let id = parent.recordID
          archive.refusedParent = [id.recordName, id.zoneID.zoneName, id.zoneID.ownerName]
        }
      }
      return archive
    }

    private enum Archivable {
      case nothing, file, refused
      case value(Record.Value)
    }

    /// What an archive has of a key. Not by way of the object, which has lost what an empty list is one of.
    private func archivable(_ slot: FieldSlot) -> Archivable {
      do throws(DatabaseError) {
        return switch try value(slot) {
        case nil: .nothing
        case .asset(let asset)? where !asset.isArchivable: .file
        case .assets(let list)? where !list.allSatisfy(\.isArchivable): .file
        case let value?: .value(value)
        }
      } catch { return error.code == .invalidArguments ? .refused : .file }
    }

    /// A record with values that are as saved, and changes of them.
    init?(_ base: Result<Record, DatabaseError>, _ archive: RecordArchive.Values) {
      func slots(_ keys: [String]) -> Set<FieldSlot> { Set(keys.map { FieldSlot($0) }) }
      func bySlot(_ values: [String: Record.Value]) -> [FieldSlot: Record.Value] {
        Dictionary(values.map { (FieldSlot($0.key), $0.value) }) { first, _ in first }
      }
      let (changed, changedEncrypted) = (slots(archive.changed), slots(archive.changedEncrypted))
      let (values, encryptedValues) = (bySlot(archive.values), bySlot(archive.encryptedValues))
      var base = base
      if case .success(let record) = base, let metadata = record.metadata {
        // Only a record that was saved has values that are no changes.
        base = Result { () throws(DatabaseError) in
          try Record(
            type: record.type, id: record.id, metadata: metadata,
            values: archive.values.filter { !changed.contains(FieldSlot($0.key)) },
            encryptedValues: archive.encryptedValues.filter { !changedEncrypted.contains(FieldSlot($0.key)) },
            parent: record.parent)
        }
      }
      self.init(base)
      for key in archive.changed {
        put(values[FieldSlot(key)].map { .value($0) } ?? .removed, FieldSlot(key))
      }
      for key in archive.changedEncrypted {
        put(encryptedValues[FieldSlot(key)].map { .value($0) } ?? .removed, FieldSlot(key, isEncrypted: true))
      }
      for key in archive.files {
        let error = DatabaseError(
          .assetNotAvailable, "An archive of a record has no files of assets; set the asset again.", facts: .init(key: key))
        put(.refused(error), FieldSlot(key))
      }
      for (keys, isEncrypted) in [(archive.refused, false), (archive.refusedEncrypted, true)] {
        for key in keys ?? [] {
          let error = DatabaseError(
            .invalidArguments, "The value that was set before the record was archived is none that a field can hold.",
            facts: .init(key: key))
          put(.refused(error), FieldSlot(key, isEncrypted: isEncrypted))
        }
      }
      if archive.parentIsChanged {
        parentEdit = .some(archive.parent.map { CKRecord.Reference($0) } ?? archive.refusedParent.flatMap { Self.parent($0) })
      }
    }
  }

  extension RecordState {
    /// A parent of a name, a zone and an owner that are none.
    private static func parent(_ names: [String]) -> CKRecord.Reference? {
      guard names.count == 3 else { return nil }
      let zone = CKRecordZone.ID(zoneName: names[1], ownerName: names[2])
      return CKRecord.Reference(recordID: CKRecord.ID(recordName: names[0], zoneID: zone), action: .none)
    }
  }

  extension Asset {
    /// Whether the asset still says what it is when no file may be named.
    var isArchivable: Bool { sha256 != nil || data != nil }
  }
#endif
