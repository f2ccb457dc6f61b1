#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine

/// What a record body says. Every accessor is total: bytes that make no sense read as nil.
extension RecordBody {
  /// Calls `body` with the zone's bytes; the view ends with the call.
  package func withZoneKey<R, E>(_ body: (ByteView) throws(E) -> R) throws(E) -> R {
    try withBytes { (view) throws(E) in try body(Self.zoneKey(of: view)) }
  }

  /// Calls `body` with the record name's bytes; the view ends with the call.
  package func withName<R, E>(_ body: (ByteView) throws(E) -> R) throws(E) -> R {
    try withBytes { (view) throws(E) in try body(Self.nameBytes(of: view)) }
  }

  /// Calls `body` with the record type's bytes; the view ends with the call.
  package func withType<R, E>(_ body: (ByteView) throws(E) -> R) throws(E) -> R {
    try withBytes { (view) throws(E) in try body(Self.typeBytes(of: view)) }
  }

  /// Calls `body` with a cursor over the stored fields in key order; it ends with the call.
  package func withFields<R, E>(_ body: (inout FieldCursor) throws(E) -> R) throws(E) -> R {
    try withBytes { (view) throws(E) in
      var cursor = FieldCursor(view, layout)
      return try body(&cursor)
    }
  }

  // Both were found to be ASCII when the layout was made.
  package var name: String { withName { UTF8Order.string(ascii: $0) } }
  package var type: String { withType { UTF8Order.string(ascii: $0) } }
  package var zoneID: Zone.ID {
    withBytes { view in
      if view.uint16(at: 2) == Self.defaultZoneMark { return .default }
      return (try? ValueCoding.zone(of: Self.zoneKey(of: view))) ?? .default
    }
  }
  package var id: Record.ID { Record.ID(unchecked: name, in: zoneID) }

  /// The change tag as a number; 0 for a record that was never saved, `UInt64.max` for a tag of another server.
  package var tag: UInt64 { withBytes { $0.uint64(at: 6) } }

  /// Where the log has the version before this one.
  package var previous: (offset: UInt64, byteCount: UInt32)? {
    let place = previousPlace
    return place.byteCount == 0 ? nil : (place.offset, place.byteCount)
  }

  package var modificationDate: Date {
    Date(timeIntervalSinceReferenceDate: withBytes { $0.double(at: RecordBody.modificationOffset) })
  }

  package var creationDate: Date {
    Date(timeIntervalSinceReferenceDate: withBytes { $0.double(at: RecordBody.creationOffset) })
  }

  func withOptionals<R>(_ body: (Optionals) -> R) -> R {
    withBytes { body(Optionals(of: $0, layout: layout)) }
  }

  /// The change tag as users see it; nil for a record that was never saved.
  package var changeTag: String? {
    let tag = tag
    if tag == 0 { return nil }
    if tag != .max { return ChangeTag.text(tag) }
    return withOptionals { $0.tagText.flatMap { UTF8Order.string($0, isValid: false) } } ?? ChangeTag.text(tag)
  }

  /// The name of the parent, which is in the same zone.
  package var parentName: String? {
    if withBytes({ $0[1] & Flags.parent == 0 }) { return nil }
    return withOptionals { $0.parent.flatMap { UTF8Order.string($0, isValid: false) } }
  }

  /// What the database knows about the record; nil before it was saved.
  package var metadata: Record.Metadata? {
    guard let changeTag else { return nil }
    return withOptionals { parts in
      let isValid = layout.isChecked
      func text(_ part: ByteView?) -> String? { part.flatMap { UTF8Order.string($0, isValid: isValid) } }
      return Record.Metadata(
        changeTag: changeTag, creationDate: creationDate, creatorUserID: text(parts.creator),
        modificationDate: modificationDate, lastModifiedUserID: text(parts.modifier), modifiedByDevice: text(parts.device))
    }
  }

  /// Calls `body` with mark and value bytes of a field; nil when there is none.
  package func withField<R>(_ key: ByteView, _ body: (FieldMark, ByteView) -> R?) -> R? {
    withField(key) { (_, mark, bytes) in body(mark, bytes) }
  }

  /// The same, with all the bytes beside the value's.
  @inline(__always)
  private func withField<R>(_ key: ByteView, _ body: (ByteView, FieldMark, ByteView) -> R?) -> R? {
    withBytes { view in
      let layout = layout
      guard let (row, heapStart) = Self.row(of: key, in: view, layout) else { return nil }
      let end = Int(view.uint32(at: row &+ 2))
      return body(
        view, FieldMark(rawValue: view[row]), view.slice(layout.valuesStart &+ heapStart..<layout.valuesStart &+ end))
    }
  }

  /// Where the row of a key is, and where its value begins in the heap. Searches from the front, because most records have few
  /// fields and their keys lie side by side; a wide one has an index.
  ///
  /// By pointer, without the checks of a view: all rows and keys were found to lie within the bytes when the layout was made
  /// (row: record-fetch-ten-fields).
  @inline(__always)
  static func row(of key: ByteView, in view: ByteView, _ layout: Layout) -> (row: Int, heapStart: Int)? {
    if layout.hasIndex { return indexedRow(of: key, in: view, layout) }
    return searchedRow(of: key, in: view, layout)
  }

  @inline(__always)
  private static func searchedRow(
    of key: ByteView, in view: ByteView, _ layout: Layout
  ) -> (row: Int, heapStart: Int)? {
    // Safe: the layout's rows lie in front of its keys, the keys in front of the values, all within the bytes.
    let start = unsafe view.base + (layout.fieldsStart &+ 2)
    let end = unsafe view.base + layout.keysStart
    var row = unsafe start
    var candidate = unsafe end
    while unsafe row < end {
      let keyCount = unsafe Int(row.load(fromByteOffset: 1, as: UInt8.self))
      if unsafe keyCount == key.count && UTF8Order.equal(candidate, key.base, byteCount: keyCount) {
        // A value begins where the one before it ends; the first at the start of the heap.
        let heapStart =
          unsafe row == start
          ? 0 : unsafe Int(UInt32(littleEndian: (row - 4).loadUnaligned(as: UInt32.self)))
        return (unsafe row - view.base, heapStart)
      }
      unsafe candidate += keyCount
      unsafe row += tableStride
    }
    return nil
  }

  // Not inlined: in a record of few fields its registers would be saved for nothing (row: record-fetch-ten-fields).
  @inline(never)
  private static func indexedRow(
    of key: ByteView, in view: ByteView, _ layout: Layout
  ) -> (row: Int, heapStart: Int)? {
    var address = indexAddress(of: view)
    if address & 1 != 0 {
      guard let made = lateAddress(address, of: view, layout) else { return searchedRow(of: key, in: view, layout) }
      address = made
    }
    guard let number = unsafe FieldIndex.row(of: key, in: view, layout, address, last: lastRow(of: view)) else { return nil }
    let row = layout.fieldsStart &+ 2 &+ tableStride &* number
    return (row, number == 0 ? 0 : Int(view.uint32(at: row &- 4)))
  }

  /// Where the index is that a late one has made; nil where there is none yet.
  private static func lateAddress(_ address: UInt, of view: ByteView, _ layout: Layout) -> UInt? {
    // Safe: an odd address was put there with its object, which the storage keeps as long as the bytes.
    guard let pointer = unsafe UnsafeRawPointer(bitPattern: address & ~1) else { return nil }
    return unsafe Unmanaged<LateFieldIndex>.fromOpaque(pointer).takeUnretainedValue().address(of: view, layout)
  }

  /// The mark of a field, or nil when there is none.
  package func mark(forKey key: String) -> FieldMark? {
    UTF8Order.withView(of: key) { withField($0) { mark, _ in mark } }
  }

  /// The value of a field of one of the two namespaces.
  package func value(forKey key: String, isEncrypted: Bool = false) -> Record.Value? {
    let layout = layout
    let view = bytes
    let place = UTF8Order.withView(of: key) { Self.row(of: $0, in: view, layout) }
    var result: Record.Value?
    if let place {
      let mark = FieldMark(rawValue: view[place.row])
      if mark.isEncrypted == isEncrypted {
        let start = layout.valuesStart
        let end = Int(view.uint32(at: place.row &+ 2))
        result = value(mark, view.slice(start &+ place.heapStart..<start &+ end), in: view, key: key)
      }
    }
    _fixLifetime(self)
    return result
  }

  /// The value of a field's bytes, opened when they are sealed.
  func value(_ mark: FieldMark, _ bytes: ByteView, key: String) -> Record.Value? {
    withBytes { view in value(mark, bytes, in: view, key: key) }
  }

  @inline(__always)
  private func value(_ mark: FieldMark, _ bytes: ByteView, in view: ByteView, key: String) -> Record.Value? {
    guard let kind = mark.kind else { return nil }
    if !mark.isSealed {
      // Anybody who can write the file could have put it there.
      if mark.isEncrypted, refusesUnsealedValues { return nil }
      // Only references ask for the zone.
      return ValueCoding.decode(
        kind, bytes, zoneKey: kind.isReference ? Self.zoneKey(of: view) : bytes, isValid: isChecked,
        services: kind.isAsset ? services : nil)
    }
    // A plain field would show to everybody what only the encrypted values may.
    guard mark.isEncrypted else { return nil }
    let zoneKey = Self.zoneKey(of: view)
    guard let plain = try? services?.sealer?.open(bytes, id, key, kind) else { return nil }
    return UTF8Order.withView(of: plain) {
      ValueCoding.decode(kind, $0, zoneKey: zoneKey, isValid: false, services: nil)
    }
  }

  /// The keys of one namespace, in order of their bytes.
  func keys(isEncrypted: Bool) -> [String] {
    withFields { cursor in
      var keys: [String] = []
      keys.reserveCapacity(fieldCount)
      while let field = cursor.next() {
        guard field.mark.isEncrypted == isEncrypted, let key = UTF8Order.string(field.key, isValid: false) else {
          continue
        }
        keys.append(key)
      }
      return keys
    }
  }
}
