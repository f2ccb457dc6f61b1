import DaybookEngine

/// The records of an order as an index has them, and where the records of an index's entries are.
extension ReadView {
  /// What an index gave of an order.
  struct OrderedPart {
    var records: [Record] = []
    /// Whether there are more.
    var isCut = false
    /// With all of its fields.
    var last: RecordBody?
  }

  /// Appends the entries by name of some names, as keys, that an index has.
  /// - Parameter range: which of them, no more than a group has.
  func appendEntries(
    of names: CandidateNames, _ range: Range<Int>, in zone: ZoneTrees, _ group: inout LookupGroup,
    to entries: inout [RecordEntry]
  ) throws(DatabaseError) {
    let reader = reader
    do throws(PageFault) {
      try names.find(range, in: zone.byName, reader, &group)
      for index in range {
        guard let value = try group.value(index - range.lowerBound, names.name(index), reader), let entry = RecordEntry(value)
        else { throw reader.fault(in: zone.indexes) }
        entries.append(entry)
      }
    } catch { throw failure(error) }
  }

  /// The first records of the order after a cursor, by walking over an index, and whether there are more. Nil where that is not the plan,
  /// and where it turns out to be more work than looking at all.
  /// - Parameter isCutAsked: whether `isCut` matters: to know it, one record more is read.
  func orderedRecords(
    _ plan: QueryPreparation, after place: Query.Cursor?, limit: Int, isCutAsked: Bool, desiredKeys: [String]?,
    _ stop: QueryStop?
  ) throws(DatabaseError) -> OrderedPart? {
    guard case .order(let choice) = plan.access, let type = plan.query.recordType else { return nil }
    let zone = plan.zones[0]
    let isDefault = zone.isDefault
    let trees = plan.trees[0]
    var after: (prefix: [UInt8], name: [UInt8])?
    if let place {
      guard let found = IndexOrderWalk.place(of: place, in: zone, choice.definition.number) else { return nil }
      after = found
    }
    let reader = reader
    var walk = IndexOrderWalk(reader, trees.indexes, choice, isDescending: !plan.query.sort[0].isAscending, after: after)
    var bodies = BodyReading(self)
    var part = OrderedPart()
    part.records.reserveCapacity(min(limit, 1024))
    let names = CandidateNames()
    var group = LookupGroup()
    var entries: [RecordEntry] = []
    var visited: UInt64 = 0
    // No more bytes than the log has can be read as records of one walk; in a forged file they may.
    var remaining = logEnd
    let twice = UInt64(clamping: limit).multipliedReportingOverflow(by: 2)
    let patience =
      database.options.prefersIndexes || twice.overflow ? .max : max(twice.partialValue, choice.count / IndexChoice.lookupCost)
    while true {
      names.removeAll()
      let left = min(LookupGroup.largestCount, limit - part.records.count)
      let wanted = min(LookupGroup.largestCount, left + (isCutAsked ? 1 : 0))
      do throws(PageFault) {
        while names.count < wanted, let name = try walk.next() { names.append(name) }
      } catch { throw failure(error) }
      if names.count == 0 { return walk.isLost ? nil : part }
      entries.removeAll(keepingCapacity: true)
      try appendEntries(of: names, 0..<names.count, in: trees, &group, to: &entries)
      for entry in entries { reader.touch(entry.place) }
      for entry in entries {
        visited += 1
        if visited % 256 == 0 { try checkStop(stop) }
        // A filter that leaves hardly any: a scan reads records faster.
        if visited > patience, part.records.count < limit { return nil }
        guard UInt64(entry.place.byteCount) <= remaining else { throw failure(.operation(offset: entry.place.offset)) }
        remaining -= UInt64(entry.place.byteCount)
        let body = try bodies.read(entry.place)
        guard body.isOf(zone, isDefault: isDefault), body.hasType(type) else { throw misplaced(entry.place, zone, body.name) }
        if !plan.filter.accepts(body) {
          bodies.takeBack()
          continue
        }
        if part.records.count == limit {
          part.isCut = true
          return part
        }
        if isCutAsked { part.last = body }
        part.records.append(desiredKeys == nil ? Record(stored: body) : Record(body: body, desiredKeys: desiredKeys))
        if !isCutAsked, part.records.count == limit { return part }
      }
    }
  }
}

/// Reads bodies for a view, one after the other, into few allocations.
struct BodyReading {
  private let view: ReadView
  /// Of a pinned version; nil within a transaction.
  private let end: UInt64?
  private let store: Store
  private var batch: RecordBodyBatch

  /// - Parameter count: how many bodies will be read; nil when that is unknown.
  init(_ view: ReadView, count: Int? = nil) {
    self.view = view
    store = view.store
    if case .pin(let pin) = view.source { end = pin.end } else { end = nil }
    batch = RecordBodyBatch(count: count, view.store.records.shapes.table, services: view.services)
  }

  /// The body at a place of the log. Without a copy of the view's pin, whose references would be counted for each record.
  @inline(__always)
  mutating func read(_ place: Place) throws(DatabaseError) -> RecordBody {
    guard let end else { return try view.body(at: place) }
    do throws(StoreError) { return try batch.read(place, from: store, end: end) } catch { throw view.failure(error) }
  }

  /// The same, unless it does not pass a filter.
  @inline(__always)
  mutating func read(
    _ place: Place, passing filter: inout PackedFilter
  ) throws(DatabaseError) -> RecordBodyBatch.Judged {
    guard let end else { return .unknown(try view.body(at: place)) }
    do throws(StoreError) {
      return try batch.read(place, from: store, end: end, passing: &filter)
    } catch { throw view.failure(error) }
  }

  /// The body that the entry of a record leads to; one of another record is thrown about.
  @inline(__always)
  mutating func read(_ id: Record.ID, at place: Place) throws(DatabaseError) -> RecordBody {
    let body = try read(place)
    guard body.isOf(id) else { throw view.misplaced(place, id.zone, id.name) }
    return body
  }

  /// Takes back the room of the body that was read last, and is not kept.
  @inline(__always)
  mutating func takeBack() { batch.takeBack() }
}
