import DaybookEngine

/// Indexes during a replay: definitions are applied as they come, entries are made of them once, at the end.
///
///     log               define 1   save a   build 1 … a   save b   drop 1   define 1   build 1 …
///     declared          1 at 0     1 at 0   1 at a        1 at a   –        1 at 0     1 at …     what the tree of the schema has
///     entries are of    1 at 0     1 at 0   1 at 0        1 at 0   –        –          –          what saves and deletions keep up
///     at the end        entries of a dropped number go; what `declared` has and the entries are not of is built
///
/// Done where they are, a log of {define, build, drop} repeated would read every record each time. What is right at the end follows
/// from the definitions: a version has entries or not, whenever they were made (`IndexDefinition.isEntered`).
///
/// While saves and deletions keep up an index as far as it was built before, versions that were not in it are not in it, and those after
/// its definition are. So what is missing at the end are versions of before its definition: those that the log has built since, and that
/// still live. A number that was dropped may have entries of two definitions; so a second one waits until those of the first are gone.
extension RecordApplier {
  /// Whether entries wait for the end.
  func defersBuilds(_ changes: StoreTransaction) -> Bool { changes.isReplaying && !isMutant("build-within-replay") }

  /// The last operation was replayed: entries become what the definitions say.
  func finishReplay(_ changes: StoreTransaction) throws(LogFault) {
    try flush(changes)
    guard hasDeferred else { return }
    try removeDropped(changes)
    try buildDeferred(changes)
    indexes.replace(declared.defined)
    forgetDeferred()
    try flush(changes)
  }

  func forgetDeferred() {
    hasDeferred = false
    if !dropped.isEmpty { dropped = [] }
  }

  private func removeDropped(_ changes: StoreTransaction) throws(LogFault) {
    if dropped.isEmpty || isMutant("drop-index-leave-entries") { return }
    // In a forged file many zones may share one large tree.
    var remaining = removalBudget(changes)
    for zoneKey in try zoneKeys(changes) {
      try zoneKey.withView { (zoneKey) throws(LogFault) in
        try open(zoneKey, changes)
        guard var zone = openZone, !zone.isDeleted, zone.indexes.count > 0 else { return }
        var hasRemoved = false
        var first: UInt16? = 0
        while let start = first, let number = try firstIndexNumber(from: start, in: zone, changes) {
          if dropped.contains(number) {
            while try removeSome(of: number, &zone, &remaining, changes) { hasRemoved = true }
          }
          first = number == .max ? nil : number + 1
        }
        if hasRemoved { setOpenZone(zone) }
      }
    }
  }

  /// The number of the first index that has an entry, from one on.
  private func firstIndexNumber(
    from number: UInt16, in zone: ZoneTrees, _ changes: StoreTransaction
  ) throws(LogFault) -> UInt16? {
    value.truncate(to: 0)
    IndexKey.appendNumber(number, to: value)
    do throws(PageFault) {
      var cursor = changes.reader.cursor(in: zone.indexes)
      try cursor.start(at: value.view)
      guard try cursor.next() else { return nil }
      cursor.key(into: key)
      guard let found = IndexKey.number(of: key.view) else { throw changes.reader.fault(in: zone.indexes) }
      return max(number, found)
    } catch { throw .page(error) }
  }

  private func buildDeferred(_ changes: StoreTransaction) throws(LogFault) {
    let waiting = declared.all.filter { $0.kind != nil && indexes[$0.number] != $0 }
    if waiting.isEmpty { return }
    var gaps: Set<UInt16> = []
    for zoneKey in try zoneKeys(changes) {
      var first = 0
      while first < waiting.count {
        var end = first + 1
        while end < waiting.count, waiting[end].type == waiting[first].type { end += 1 }
        var spans: [IndexSpan] = []
        for definition in waiting[first..<end] {
          spans += IndexSpan.missing(in: zoneKey, from: indexes[definition.number], to: definition)
        }
        if !spans.isEmpty { try build(spans, ofType: waiting[first].type, in: zoneKey, &gaps, changes) }
        first = end
      }
    }
    for number in gaps {
      guard var definition = declared[number] else { continue }
      definition.hasGaps = true
      try declare(definition, changes)
    }
  }
}

/// Versions of a type in one zone that get entries in an index: those after one place of the log's order, up to another.
struct IndexSpan {
  typealias Place = (sequence: UInt64, ordinal: UInt32)
  /// As if it were complete: the span says which versions are meant.
  let definition: IndexDefinition
  let after: Place
  let through: Place

  private init(_ definition: IndexDefinition, after: Place, through: Place) {
    var definition = definition
    definition.isComplete = true
    self.definition = definition
    self.after = after
    self.through = through
  }

  func contains(_ place: Place) -> Bool { place > after && place <= through }

  /// What an index has in a zone after it was built up to one place, and not when it was built up to another.
  /// - Parameter before: nil when it has no entries at all.
  static func missing(in zoneKey: [UInt8], from before: IndexDefinition?, to after: IndexDefinition) -> [IndexSpan] {
    let since = (after.sinceSequence, after.sinceOrdinal)
    let start = before?.builtThrough(zoneKey) ?? (0, 0)
    let end = after.builtThrough(zoneKey)
    var spans: [IndexSpan] = []
    if start < end { spans.append(IndexSpan(after, after: start, through: end)) }
    if before == nil { spans.append(IndexSpan(after, after: since, through: (.max, .max))) }
    return spans
  }
}

extension IndexDefinition {
  /// Of the versions of a zone that were there before the definition: up to where they have entries.
  fileprivate func builtThrough(_ zone: [UInt8]) -> IndexSpan.Place {
    let since = (sinceSequence, sinceOrdinal)
    if isComplete || zone.lexicographicallyPrecedes(zoneKey) { return since }
    if zone != zoneKey { return (0, 0) }
    return (sequence, ordinal) < since ? (sequence, ordinal) : since
  }
}
