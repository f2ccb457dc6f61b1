import DaybookEngine

/// A zone's tree of indexes: what the values of indexed fields are found by.
///
///     key     u16 number of the index, value, key of the record's name; see `IndexKey`
///     value   nothing
///
/// A record has one entry in each index of its type; a list has one for each of its elements. A field that is not there has the entry of
/// no value, so that an order by the index has every record. An entry has the record's name, so it stays as it is while the value does.
///
/// Which records have entries is said by the definitions (`IndexDefinition`), which are in the log before the records that they are
/// about: so what a version contributes follows from the log, at any time. The type of a record, which never changes, says
/// whether to look at its versions at all: the flag by name stays that of the body.
enum IndexTree: ContributedTree {
  /// What decides is the type, which the caller knows.
  @inline(__always)
  static func mayContribute(_ body: ByteView) -> Bool { false }

  static func contribute(_ version: RecordVersion, to entries: ContributionList) {
    let indexes = entries.indexes
    if indexes.isEmpty { return }
    contribute(version, of: indexes.all[indexes.range(of: version.type)], to: entries)
  }

  /// - Parameter definitions: of the version's type, in the order of their keys.
  static func contribute(_ version: RecordVersion, of definitions: ArraySlice<IndexDefinition>, to entries: ContributionList) {
    guard !definitions.isEmpty, let layout = try? RecordBody.layout(of: version.body) else { return }
    var cursor = FieldCursor(version.body, layout)
    var field = cursor.next()
    for definition in definitions where definition.isEntered(version) {
      definition.key.withView { key in
        while let found = field, UTF8Order.compare(found.key, key) < 0 { field = cursor.next() }
        guard let found = field, UTF8Order.equal(found.key, key), !found.mark.isEncrypted, let kind = found.mark.kind,
          // The zone of a reference is no part of an entry.
          let value = ValueView(kind, found.value, zoneKey: found.value)
        else { return add(nil, of: version, definition.number, to: entries) }
        guard kind.isList else { return add(value, of: version, definition.number, to: entries) }
        if kind.isAsset { return add(nil, of: version, definition.number, to: entries) }
        var elements = value.elements
        while let element = elements.next() { add(element, of: version, definition.number, to: entries) }
      }
    }
  }

  private static func add(_ value: ValueView?, of version: RecordVersion, _ number: UInt16, to entries: ContributionList) {
    IndexKey.appendNumber(number, to: entries.bytes)
    IndexKey.append(value, to: entries.bytes)
    NameKey.withView(of: version.name) { (name) throws(Never) in entries.bytes.append(name) }
    entries.add()
  }

  /// Its key by name, and not the name.
  static func recordName(in key: ByteView) -> ByteView? { IndexKey.nameKey(in: key) }
}
