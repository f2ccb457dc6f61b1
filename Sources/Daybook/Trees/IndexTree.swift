import DaybookEngine

/// A zone's tree of indexes: what the values of indexed fields are found by.
///
///     key     u16 number of the index, value, key of the record's name; see `IndexKey`
///     value   nothing
///
/// A record has one entry in each index of values of its type; a list has one for each of its elements. A field that is not there has the
/// entry of no value, so that an order by the index has every record. In an index of places it has one for each place, in one of words
/// for each word. An entry has the record's name, so it stays as it is while the value does. The dates at which a record was made and saved last
/// are indexed as its fields are; those of the latter change with each save.
///
/// Which records have entries is said by the definitions (`IndexDefinition`), which are in the log before the records that they are
/// about: so what a version contributes follows from the log, at any time. The type of a record, which never changes, says
/// whether to look at its versions at all: the flag by name stays that of the body.
enum IndexTree: ContributedTree {
  /// What decides is the type, which the caller knows.
  @inline(__always)
  static func mayContribute(flags: UInt8) -> Bool { false }

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
      guard let kind = definition.kind else { continue }
      if let date = definition.date {
        if kind == .value { add(RecordBody.date(date, of: version.body), of: version, definition.number, to: entries) }
        continue
      }
      definition.key.withView { key in
        while let found = field, UTF8Order.compare(found.key, key) < 0 { field = cursor.next() }
        var value: ValueView?
        if let found = field, UTF8Order.equal(found.key, key), !found.mark.isEncrypted, let kind = found.mark.kind {
          // The zone of a reference is no part of an entry.
          value = ValueView(kind, found.value, zoneKey: found.value)
        }
        switch kind {
        case .value: addValues(of: value, version, definition.number, to: entries)
        case .location: addPlaces(of: value, version, definition.number, to: entries)
        case .text: addWords(of: value, version, definition.number, to: entries)
        }
      }
    }
  }

  private static func addValues(
    of value: ValueView?, _ version: RecordVersion, _ number: UInt16, to entries: ContributionList
  ) {
    guard let value, value.kind.isList else { return add(value, of: version, number, to: entries) }
    if value.kind.isAsset { return add(nil, of: version, number, to: entries) }
    var elements = value.elements
    while let element = elements.next() { add(element, of: version, number, to: entries) }
  }

  private static func add(_ value: ValueView?, of version: RecordVersion, _ number: UInt16, to entries: ContributionList) {
    IndexKey.appendNumber(number, to: entries.bytes)
    IndexKey.append(value, to: entries.bytes)
    end(version, entries)
  }

  private static func addPlaces(
    of value: ValueView?, _ version: RecordVersion, _ number: UInt16, to entries: ContributionList
  ) {
    func add(_ value: ValueView) {
      guard let place = value.place else { return }
      IndexKey.appendNumber(number, to: entries.bytes)
      IndexKey.append(placeAt: place.latitude, place.longitude, to: entries.bytes)
      end(version, entries)
    }
    guard let value else { return }
    if value.kind == .location { return add(value) }
    guard value.kind == .locations else { return }
    var elements = value.elements
    while let element = elements.next() { add(element) }
  }

  /// The name, which ends an entry.
  private static func end(_ version: RecordVersion, _ entries: ContributionList) {
    NameKey.withView(of: version.name) { (name) throws(Never) in entries.bytes.append(name) }
    entries.add()
  }

  private static func addWords(
    of value: ValueView?, _ version: RecordVersion, _ number: UInt16, to entries: ContributionList
  ) {
    guard let value else { return }
    var rest = WordKey.largestCount
    if value.kind == .string { return addWords(of: value.bytes, version, number, &rest, to: entries) }
    guard value.kind == .strings else { return }
    var elements = value.elements
    while rest >= 0, let element = elements.next() { addWords(of: element.bytes, version, number, &rest, to: entries) }
  }

  /// - Parameter rest: how many words may still have entries; −1 once it was told that there are more.
  private static func addWords(
    of text: ByteView, _ version: RecordVersion, _ number: UInt16, _ rest: inout Int, to entries: ContributionList
  ) {
    var words = SearchWords(text)
    while rest >= 0 {
      let start = entries.bytes.count
      IndexKey.appendNumber(number, to: entries.bytes)
      guard WordKey.appendNext(of: &words, to: entries.bytes) else { return entries.bytes.truncate(to: start) }
      if rest == 0 {
        entries.bytes.truncate(to: start)
        IndexKey.appendNumber(number, to: entries.bytes)
        entries.bytes.append(IndexKey.Rank.manyWords)
      }
      rest -= 1
      end(version, entries)
    }
  }

  /// Its key by name, and not the name.
  static func recordName(in key: ByteView) -> ByteView? { IndexKey.nameKey(in: key) }
}
