import DaybookEngine

/// Writes record bodies: a record's edits merged into the stored version, unchanged values copied as bytes.
///
/// Three layers are merged in key order: the server's body lowest, the local body above it when all keys are sent,
/// the edits on top. An edit of one namespace replaces a field of the other with the same key, so no key is ever both
/// plain and encrypted. The result depends on the fields only, not on the order of edits.
/// The picture of the bytes is in `RecordBody`.
package enum RecordBodyEncoder {
  /// Which local values are written.
  package enum Extent: Sendable {
    /// The record's edits; a record without a server version still writes everything it has.
    case changedKeys
    /// Everything that the record has, and its removals. Keys that only the server has stay.
    case allKeys
  }

  /// What the database adds to a save.
  package struct Stamp: Sendable {
    /// Never 0 in a stored body. `UInt64.max` when `tagText` holds another server's tag.
    package var tag: UInt64
    package var tagText: String?
    /// Seconds since the reference date.
    package var date: Double
    /// UTF-8 of the user and device, prepared once for all records of a transaction.
    package var userID: [UInt8]?
    package var deviceID: [UInt8]?
    /// Creation, where it is neither the server version's nor this save's.
    package var creation: (date: Double, userID: [UInt8]?)?
    /// The place of the version before this one; a length of 0 when there is none.
    package var previousOffset: UInt64
    package var previousByteCount: UInt32

    package init(
      tag: UInt64, tagText: String? = nil, date: Double, userID: [UInt8]? = nil, deviceID: [UInt8]? = nil,
      creation: (date: Double, userID: [UInt8]?)? = nil, previousOffset: UInt64 = 0, previousByteCount: UInt32 = 0
    ) {
      self.tag = tag
      self.tagText = tagText
      self.date = date
      self.userID = userID
      self.deviceID = deviceID
      self.creation = creation
      self.previousOffset = previousOffset
      self.previousByteCount = previousByteCount
    }
  }

  /// Appends the body of `record` as it will be stored.
  ///
  /// - Parameters:
  ///   - server: the stored version of the same record; nil inserts.
  ///   - services: of the database that will store it; seals encrypted values when it can. Values that another database
  ///     sealed are opened and sealed anew.
  ///   - room: how much there may be of it.
  /// - Throws: `invalidArguments` when the record remembers a refusal, `assetNotAvailable` when an asset was not
  ///   stored first, `limitExceeded`, or what the cipher throws. Then the buffer is as it was.
  package static func encode(
    _ record: Record, onto server: RecordBody? = nil, writing extent: Extent = .changedKeys, stamp: Stamp,
    services: RecordServices? = nil, room: Room = Room(), into buffer: ByteBuffer
  ) throws(DatabaseError) {
    if record.isExpected, server != nil || record.body.fieldCount > 0 {
      // Of what is merged, the edits are asked for several times.
      return try encode(
        record.spelledOut, onto: server, writing: extent, stamp: stamp, services: services, room: room, into: buffer)
    }
    try record.validateForSave()
    var room = room
    room.start = unsafe buffer.extent.count
    // Two calls and not one with a choice: that would count a reference, for each save.
    if let server {
      try append(record, onto: server, isNew: false, extent, stamp, services, &room, into: buffer)
    } else {
      try append(record, onto: record.body, isNew: true, extent, stamp, services, &room, into: buffer)
    }
  }

  /// - Parameter base: the stored version, or the record's own body when it is new.
  private static func append(
    _ record: Record, onto base: RecordBody, isNew: Bool, _ extent: Extent, _ stamp: Stamp, _ services: RecordServices?,
    _ room: inout Room, into buffer: ByteBuffer
  ) throws(DatabaseError) {
    var writer = ByteWriter(buffer)
    let start = writer.offset
    var hasReferences = false
    var namesAssets = false
    try base.withBytes { (baseView) throws(DatabaseError) in
      let zoneKey = RecordBody.zoneKey(of: baseView)
      appendHeader(record, base, baseView, isNew: isNew, extent, stamp, into: &writer)
      if base.fieldCount == 0, isNew {
        // A new record: the edits are the fields.
        hasReferences = try appendEdits(of: record, zoneKey: zoneKey, services, &namesAssets, &room, into: &writer)
        return
      }
      try record.body.withBytes { (localView) throws(DatabaseError) in
        var lower = FieldCursor(baseView, base.layout)
        var upper: FieldCursor?
        if !isNew, extent == .allKeys { upper = FieldCursor(localView, record.body.layout) }
        let count = base.fieldCount + (upper == nil ? 0 : record.body.fieldCount)
        var rows = record.withEdits { merge(&lower, &upper, count, $0) }
        let sealed = try sealAnew(&rows, of: record, isLocal: isNew, services)
        hasReferences = try appendFields(
          rows, sealed, of: record, zoneKey: zoneKey, services, &namesAssets, &room, into: &writer)
      }
    }
    if hasReferences { writer.set(bits: RecordBody.Flags.references, at: start + 1) }
    if namesAssets { writer.set(bits: RecordBody.Flags.assets, at: start + 1) }
    // Only now: what threw on the way left the buffer as it was.
    writer.finish()
  }

  /// Where one field of the result comes from. Plain words, because a list of them is made for each save of a stored record (row:
  /// use-savepoint).
  private enum Row {
    case stored(FieldCursor.Field)
    case edit(Int)
    /// The number of an encrypted value that is stored in another form.
    case sealed(Int)
  }

  /// An encrypted value in the form in which this database stores it.
  private struct Sealed {
    let mark: FieldMark
    let key: ByteView
    let value: [UInt8]
  }

  /// - Parameter count: of the fields that the cursors have.
  private static func merge(
    _ lower: inout FieldCursor, _ upper: inout FieldCursor?, _ count: Int, _ edits: FieldEdits
  ) -> [Row] {
    var rows: [Row] = []
    rows.reserveCapacity(count + edits.count)
    var low = lower.next()
    var high = upper?.next()
    var editIndex = 0
    while true {
      // The stored field that comes next; of two with one key the local one.
      var stored = high
      if let l = low {
        let order = high.map { UTF8Order.compare(l.key, $0.key) } ?? -1
        if order < 0 { stored = l }
      }
      guard let field = stored else { break }
      let order =
        editIndex < edits.count ? UTF8Order.compare(edits[editIndex].key, field.key) : 1
      if order <= 0 {
        if !edits[editIndex].isRemoval {
          rows.append(.edit(editIndex))
        } else if order == 0, field.mark.isEncrypted != edits[editIndex].isEncrypted, !edits[editIndex].isOfBoth {
          // The removal of a plain value leaves an encrypted one alone, and the other way round.
          rows.append(.stored(field))
        }
        editIndex += 1
        if order < 0 { continue }
      } else {
        rows.append(.stored(field))
      }
      if let l = low, UTF8Order.compare(l.key, field.key) <= 0 { low = lower.next() }
      if let h = high, UTF8Order.compare(h.key, field.key) <= 0 { high = upper?.next() }
    }
    while editIndex < edits.count {
      if !edits[editIndex].isRemoval { rows.append(.edit(editIndex)) }
      editIndex += 1
    }
    return rows
  }

  /// Encrypted values that are stored in another way than this database does: by another one, or before it had a cipher.
  ///
  /// One that is refused because nobody sealed it keeps its bytes in its own database, and is refused on: sealing it would
  /// vouch for it. In another one it does not arrive.
  private static func sealAnew(
    _ rows: inout [Row], of record: Record, isLocal: Bool, _ services: RecordServices?
  ) throws(DatabaseError) -> [Sealed] {
    var sealed: [Sealed] = []
    for index in rows.indices {
      guard case .stored(let field) = rows[index], field.mark.isEncrypted, let kind = field.mark.kind else { continue }
      // Of the two bodies the one that the bytes lie in; the server's is this database's own.
      let source = isLocal || record.body.holds(field.value) ? record.body.services : services
      let sealer = services?.sealer
      let isRefused = !field.mark.isSealed && source?.sealer?.acceptsUnsealed == false
      if field.mark.isSealed || isRefused ? source === services : sealer == nil { continue }
      let key = UTF8Order.string(field.key, isValid: false) ?? ""
      var plain = field.value.array
      if field.mark.isSealed || isRefused {
        if let fault = record.body.openingFault(forKey: key) { throw fault }
        guard let opened = try? source?.sealer?.open(field.value, record.id, key, kind) else { continue }
        plain = opened
      }
      if let sealer {
        // The array has a name of its own: a view of a temporary one would dangle.
        let bytes = plain
        let buffer = ByteBuffer(capacity: bytes.count)
        buffer.append(bytes)
        plain = try sealer.seal(buffer.view, record.id, key, kind)
      }
      rows[index] = .sealed(sealed.count)
      sealed.append(
        Sealed(mark: FieldMark(kind, isEncrypted: true, isSealed: sealer != nil), key: field.key, value: plain))
    }
    return sealed
  }

  private static func appendHeader(
    _ record: Record, _ base: RecordBody, _ baseView: ByteView, isNew: Bool, _ extent: Extent,
    _ stamp: Stamp, into writer: inout ByteWriter
  ) {
    let parent: String? =
      switch record.parentEdit {
      case .set(let name): name
      case .removed: nil
      case .unchanged:
        isNew
          ? record.body.parentName
          : (extent == .allKeys ? record.body.parentName : nil) ?? base.parentName
      }
    let stored = isNew ? nil : RecordBody.Optionals(of: baseView, layout: base.layout)
    let creator = stored.map { $0.creator?.array } ?? (stamp.creation.map(\.userID) ?? stamp.userID)
    let creationDate =
      stored != nil ? baseView.double(at: RecordBody.creationOffset) : stamp.creation?.date ?? stamp.date
    let isSameUser = stamp.userID != nil && stamp.userID == creator

    var flags: UInt8 = 0
    if parent != nil { flags |= RecordBody.Flags.parent }
    if creator != nil { flags |= RecordBody.Flags.creator }
    if isSameUser { flags |= RecordBody.Flags.modifierIsCreator }
    if stamp.userID != nil, !isSameUser { flags |= RecordBody.Flags.modifier }
    if stamp.deviceID != nil { flags |= RecordBody.Flags.device }
    if stamp.tagText != nil { flags |= RecordBody.Flags.tagText }

    writer.append(RecordBody.version)
    writer.append(flags)
    // Counts of zone key, type and name.
    writer.append(baseView.slice(2..<6))
    writer.append(uint64: stamp.tag)
    writer.append(uint64: stamp.date.bitPattern)
    writer.append(uint64: creationDate.bitPattern)
    writer.append(uint64: stamp.previousOffset)
    writer.append(uint32: stamp.previousByteCount)
    writer.append(baseView.slice(RecordBody.fixedByteCount..<RecordBody.optionalsStart(of: baseView)))
    if let text = stamp.tagText { append(counted: Array(text.utf8), into: &writer) }
    if let creator { append(counted: creator, into: &writer) }
    if let user = stamp.userID, !isSameUser { append(counted: user, into: &writer) }
    if let device = stamp.deviceID { append(counted: device, into: &writer) }
    if let parent {
      writer.append(UInt8(parent.utf8.count))
      writer.append(utf8: parent)
    }
  }

  private static func append(counted bytes: [UInt8], into writer: inout ByteWriter) {
    precondition(bytes.count <= Int(UInt16.max), "user, device and tag are limited where they are taken in")
    writer.append(uint16: UInt16(bytes.count))
    writer.append(bytes)
  }

  /// The fields of a record without stored ones: the usual insert, so it makes no list of rows. True when there are
  /// references among them.
  private static func appendEdits(
    of record: Record, zoneKey: ByteView, _ services: RecordServices?, _ namesAssets: inout Bool,
    _ room: inout Room, into writer: inout ByteWriter
  ) throws(DatabaseError) -> Bool {
    if record.isExpected, let hasReferences = try appendExpected(of: record, zoneKey: zoneKey, room, into: &writer) {
      return hasReferences
    }
    return try record.withEdits { (edits) throws(DatabaseError) in
      try appendAll(edits, of: record, zoneKey: zoneKey, services, &namesAssets, &room, into: &writer)
    }
  }

  /// The same of a draft whose keys came in the order that was expected: their rows and places are known.
  /// - Returns: nil, with nothing written, where assets and long values have to be looked at more closely, and for few of many keys,
  ///   which another order may fit.
  private static func appendExpected(
    of record: Record, zoneKey: ByteView, _ room: Room, into writer: inout ByteWriter
  ) throws(DatabaseError) -> Bool? {
    guard let draft = record.draft, let expected = draft.expected, !draft.has(.asset, or: .assets) else { return nil }
    defer { withExtendedLifetime(draft) {} }
    let places = expected.places
    let edits = draft.expectedEdits
    if draft.isFewOfMany { return nil }
    let start = writer.offset
    try appendFieldCount(draft.valueCount, into: &writer)
    var row = writer.offset
    writer.skip(RecordBody.tableStride * draft.valueCount)
    if draft.valueCount == places.count {
      writer.append(expected.bytes)
    } else {
      var key = 0
      for rank in 0..<places.count {
        let place = places[rank]
        let end = key + Int(place.byteCount)
        if place.number < edits.count, edits[place.number].isValue { writer.append(expected.bytes.slice(key..<end)) }
        key = end
      }
    }
    let values = writer.offset
    // A number takes eight bytes at most, and nothing else is asked about them.
    writer.reserve(8 * places.count)
    for rank in 0..<places.count {
      let place = places[rank]
      guard place.number < edits.count, edits[place.number].isValue else { continue }
      if case .int(let number) = edits[place.number].value {
        writer.append(reserved: number)
      } else {
        if room.isShort(for: edits[place.number].value, at: writer.offset) {
          writer.cut(to: start)
          return nil
        }
        ValueCoding.append(edits[place.number].value, zoneKey: zoneKey, into: &writer)
        writer.reserve(8 * (places.count - rank))
      }
      writer.set(
        mark: edits[place.number].form, keyByteCount: place.byteCount, end: UInt32(truncatingIfNeeded: writer.offset &- values),
        at: row)
      row &+= RecordBody.tableStride
    }
    precondition(writer.offset - values <= Int(UInt32.max), "a long value is looked at more closely")
    return draft.has(.reference, or: .references)
  }

  private static func appendAll(
    _ edits: FieldEdits, of record: Record, zoneKey: ByteView, _ services: RecordServices?, _ namesAssets: inout Bool,
    _ room: inout Room, into writer: inout ByteWriter
  ) throws(DatabaseError) -> Bool {
    var fieldCount = 0
    var hasReferences = false
    for index in edits.indices {
      guard let kind = edits[index].kind else { continue }
      fieldCount += 1
      if kind.isReference { hasReferences = true }
    }
    try appendFieldCount(fieldCount, into: &writer)
    let table = writer.offset
    let hasCipher = services?.sealer != nil
    for index in edits.indices { appendEntry(of: edits, index, hasCipher, into: &writer) }
    for index in edits.indices where edits[index].kind != nil {
      writer.append(key: edits[index].key, head: edits[index].head)
    }
    let values = writer.offset
    var entry = table
    for index in edits.indices {
      guard let kind = edits[index].kind else { continue }
      if kind == .int, !hasCipher, case .int(let number)? = edits[index].value {
        ValueCoding.append(int: number, into: &writer)
      } else {
        if room.isShort(for: edits[index].value, at: writer.offset) { try room.measure(record, edits) }
        try appendValue(of: edits, index, record, zoneKey, services, &namesAssets, into: &writer)
      }
      try setEnd(from: values, at: entry, in: writer)
      entry += RecordBody.tableStride
    }
    return hasReferences
  }

  /// The fields of a merge. True when there are references among them.
  private static func appendFields(
    _ rows: [Row], _ sealed: [Sealed], of record: Record, zoneKey: ByteView, _ services: RecordServices?,
    _ namesAssets: inout Bool, _ room: inout Room, into writer: inout ByteWriter
  ) throws(DatabaseError) -> Bool {
    try record.withEdits { (edits) throws(DatabaseError) in
      try appendAll(rows, sealed, edits, of: record, zoneKey: zoneKey, services, &namesAssets, &room, into: &writer)
    }
  }

  private static func appendAll(
    _ rows: [Row], _ sealed: [Sealed], _ edits: FieldEdits, of record: Record, zoneKey: ByteView, _ services: RecordServices?,
    _ namesAssets: inout Bool, _ room: inout Room, into writer: inout ByteWriter
  ) throws(DatabaseError) -> Bool {
    try appendFieldCount(rows.count, into: &writer)
    let table = writer.offset
    let hasCipher = services?.sealer != nil
    var hasReferences = false
    for row in rows {
      switch row {
      case .stored(let field):
        if field.mark.isReference { hasReferences = true }
        writer.append(mark: field.mark.rawValue, keyByteCount: UInt8(field.key.count))
      case .sealed(let number):
        writer.append(mark: sealed[number].mark.rawValue, keyByteCount: UInt8(sealed[number].key.count))
      case .edit(let index):
        if edits[index].kind?.isReference == true { hasReferences = true }
        appendEntry(of: edits, index, hasCipher, into: &writer)
      }
    }
    for row in rows {
      switch row {
      case .stored(let field): writer.append(field.key)
      case .sealed(let number): writer.append(sealed[number].key)
      case .edit(let index): writer.append(key: edits[index].key, head: edits[index].head)
      }
    }
    /// The bytes of a value that is encoded already.
    func byteCount(_ row: Row) -> Int {
      switch row {
      case .stored(let field): field.value.count
      case .edit: 0
      case .sealed(let number): sealed[number].value.count
      }
    }
    let values = writer.offset
    var entry = table
    for row in rows {
      if room.isShort(for: byteCount(row), at: writer.offset) {
        try room.measure(record, edits, storedByteCount: rows.reduce(0) { $0.adding(byteCount($1)) })
      }
      switch row {
      case .stored(let field):
        writer.append(field.value)
        if AssetNames.areIn(field) { namesAssets = true }
      case .sealed(let number): writer.append(sealed[number].value)
      case .edit(let index):
        if room.isShort(for: edits[index].value, at: writer.offset) {
          try room.measure(record, edits, storedByteCount: rows.reduce(0) { $0.adding(byteCount($1)) })
        }
        try appendValue(of: edits, index, record, zoneKey, services, &namesAssets, into: &writer)
      }
      try setEnd(from: values, at: entry, in: writer)
      entry += RecordBody.tableStride
    }
    return hasReferences
  }

  private static func appendFieldCount(_ count: Int, into writer: inout ByteWriter) throws(DatabaseError) {
    guard count <= Int(UInt16.max) else {
      throw DatabaseError(
        .limitExceeded, "A record has too many fields.", facts: .init(size: count, limit: Int(UInt16.max)))
    }
    writer.append(uint16: UInt16(count))
  }

  /// An edit's row in the table; its end is set when its value has been written.
  @inline(__always)
  private static func appendEntry(
    of edits: FieldEdits, _ index: Int, _ hasCipher: Bool, into writer: inout ByteWriter
  ) {
    guard let kind = edits[index].kind else { return }
    let isEncrypted = edits[index].isEncrypted
    writer.append(
      mark: FieldMark(kind, isEncrypted: isEncrypted, isSealed: isEncrypted && hasCipher).rawValue,
      keyByteCount: UInt8(edits[index].key.utf8.count))
  }

  private static func appendValue(
    of edits: FieldEdits, _ index: Int, _ record: Record, _ zoneKey: ByteView, _ services: RecordServices?,
    _ namesAssets: inout Bool, into writer: inout ByteWriter
  ) throws(DatabaseError) {
    guard let value = edits[index].value else { return }
    if edits[index].isEncrypted, let sealer = services?.sealer, let kind = edits[index].kind {
      let plain = ByteBuffer(capacity: 256)
      var plainWriter = ByteWriter(plain)
      ValueCoding.append(value, zoneKey: zoneKey, into: &plainWriter)
      plainWriter.finish()
      writer.append(try sealer.seal(plain.view, record.id, edits[index].key, kind))
      return
    }
    if let kind = edits[index].kind, kind.isAsset {
      try requireStored(value, key: edits[index].key)
      if value.namesAssets { namesAssets = true }
    }
    ValueCoding.append(value, zoneKey: zoneKey, into: &writer)
  }

  @inline(__always)
  private static func setEnd(from values: Int, at entry: Int, in writer: ByteWriter) throws(DatabaseError) {
    guard let end = UInt32(exactly: writer.offset - values) else {
      throw DatabaseError(.valueTooLarge, facts: .init(size: writer.offset - values, limit: Int(UInt32.max)))
    }
    writer.set(uint32: end, at: entry + 2)
  }

  /// An asset without a digest has no name in the folder: it must not reach the disk.
  private static func requireStored(_ value: Record.Value, key: String) throws(DatabaseError) {
    let isStored: Bool
    switch value {
    case .asset(let asset): isStored = asset.isStored
    case .assets(let list): isStored = list.allSatisfy(\.isStored)
    default: isStored = true
    }
    if !isStored {
      throw DatabaseError(.assetNotAvailable, "An asset was not stored before its record.", facts: .init(key: key))
    }
  }
}

extension RecordBody {
  /// The body of a record that was never saved: identity, nothing else. Made in its place, with one allocation.
  init(newType type: String, id: Record.ID) {
    let zoneKey = id.zone.isDefault ? [] : id.zone.key
    let typeByteCount = type.utf8.count
    let nameByteCount = id.name.utf8.count
    let end = Self.fixedByteCount + zoneKey.count + typeByteCount + nameByteCount
    var layout = Layout(byteCount: end + 2, fieldsStart: end, fieldCount: 0, valuesStart: end + 2)
    layout.isChecked = true
    self.init(layout: layout) { target in
      // Never saved: no tag, no dates, no previous version; no fields. All that stays zero.
      target.set(Self.version, at: 0)
      let mark = zoneKey.isEmpty ? Self.defaultZoneMark : UInt16(zoneKey.count)
      target.set(UInt8(truncatingIfNeeded: mark), at: 2)
      target.set(UInt8(truncatingIfNeeded: mark &>> 8), at: 3)
      target.set(UInt8(typeByteCount), at: 4)
      target.set(UInt8(nameByteCount), at: 5)
      let typeStart = Self.fixedByteCount + zoneKey.count
      UTF8Order.withView(of: zoneKey) { target.copy($0, to: Self.fixedByteCount) }
      UTF8Order.withView(of: type) { target.copy($0, to: typeStart) }
      UTF8Order.withView(of: id.name) { target.copy($0, to: typeStart + typeByteCount) }
    }
  }

  /// The body with only some of its fields, plain or encrypted; the header stays.
  package func keeping(onlyKeys keys: [String]) -> RecordBody {
    let wanted = Set(keys.map { Array($0.utf8) })
    let buffer = ByteBuffer(capacity: byteCount)
    withBytes { view in
      buffer.append(view.prefix(layout.fieldsStart))
      var fields: [FieldCursor.Field] = []
      var cursor = FieldCursor(view, layout)
      while let field = cursor.next() {
        if wanted.contains(field.key.array) { fields.append(field) }
      }
      var gone = Flags.ofFields
      if fields.contains(where: { $0.mark.isReference }) { gone &= ~Flags.references }
      if fields.contains(where: { AssetNames.areIn($0) }) { gone &= ~Flags.assets }
      buffer.set(uint16: view.uint16(at: 0) & ~(UInt16(gone) << 8), at: 0)
      buffer.append(uint16: UInt16(fields.count))
      var end: UInt32 = 0
      for field in fields {
        end += UInt32(field.value.count)
        buffer.append(field.mark.rawValue)
        buffer.append(UInt8(field.key.count))
        buffer.append(uint32: end)
      }
      for field in fields { buffer.append(field.key) }
      for field in fields { buffer.append(field.value) }
    }
    guard var small = try? Self.layout(of: buffer.view) else { return self }
    small.isChecked = isChecked
    return RecordBody(copying: buffer.view, layout: small, services: services)
  }
}
