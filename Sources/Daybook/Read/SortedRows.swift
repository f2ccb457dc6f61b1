import DaybookEngine

/// The first records of an order, as few as there is room for: a heap whose root is the last of them.
///
/// A record that comes after the root of a full heap is compared where it lies, and nothing is kept of it. What is kept of the
/// others is their place and what they are sorted by.
///
/// Always true: every record that was offered and is not here comes after all that are.
struct SortedRows {
  struct Row {
    let key: SortKey
    let zone: Int
    let name: [UInt8]
    let place: Place

    var byteCount: Int { key.bytes.count + name.count + 96 }
  }

  /// More than this is not kept at once, unless a single row is longer.
  static let maximumByteCount = 32 << 20
  static let maximumCount = 65_536

  private let order: SortOrder
  private let zoneKeys: [[UInt8]]
  private var capacity: Int
  private var byteCount = 0
  private(set) var rows: [Row] = []
  /// Whether a record was left out.
  private(set) var isCut = false

  init(_ order: SortOrder, zones: [Zone.ID], capacity: Int) {
    self.order = order
    zoneKeys = zones.map(\.key)
    self.capacity = min(capacity, Self.maximumCount)
  }

  /// Below zero when a record comes before another one: by the order, then by zone and name.
  func compare(_ found: QueryScan.Found, _ sortKey: [UInt8], zone: Int, zoneKey: [UInt8], name: [UInt8]) -> Int {
    let steps = UTF8Order.withView(of: sortKey) { key in
      UTF8Order.withView(of: zoneKey) { order.compare(found.body, key, zoneKey: $0) }
    }
    if steps != 0 { return steps }
    if found.zone != zone { return found.zone < zone ? -1 : 1 }
    return found.body.withName { own in UTF8Order.withView(of: name) { UTF8Order.compare(own, $0) } }
  }

  /// Takes a record in if it is among the first. Returns whether it was.
  mutating func offer(_ found: QueryScan.Found) {
    if rows.count >= capacity {
      let root = rows[0]
      isCut = true
      if compare(found, root.key.bytes, zone: root.zone, zoneKey: zoneKeys[root.zone], name: root.name) >= 0 { return }
      removeRoot()
    }
    let row = Row(
      key: SortKey(found.body, order), zone: found.zone, name: found.body.withName { $0.array }, place: found.place)
    byteCount += row.byteCount
    rows.append(row)
    rise()
    while byteCount > Self.maximumByteCount, rows.count > 1 {
      removeRoot()
      isCut = true
      // What comes after the one that went must not take its place.
      capacity = rows.count
    }
  }

  /// The rows in their order.
  mutating func sorted() -> [Row] {
    let unordered = rows
    rows = []
    return unordered.sorted { isBefore($0, $1) }
  }

  func zoneKey(of row: Row) -> [UInt8] { zoneKeys[row.zone] }

  private func isBefore(_ first: Row, _ second: Row) -> Bool {
    let steps = UTF8Order.withView(of: first.key.bytes) { a in
      UTF8Order.withView(of: zoneKeys[first.zone]) { aZone in
        UTF8Order.withView(of: second.key.bytes) { b in
          UTF8Order.withView(of: zoneKeys[second.zone]) { order.compare(a, aZone, b, $0) }
        }
      }
    }
    if steps != 0 { return steps < 0 }
    if first.zone != second.zone { return first.zone < second.zone }
    return first.name.lexicographicallyPrecedes(second.name)
  }

  private mutating func rise() {
    var child = rows.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      guard isBefore(rows[parent], rows[child]) else { return }
      rows.swapAt(parent, child)
      child = parent
    }
  }

  private mutating func removeRoot() {
    byteCount -= rows[0].byteCount
    rows.swapAt(0, rows.count - 1)
    rows.removeLast()
    var parent = 0
    while true {
      var child = 2 * parent + 1
      if child >= rows.count { return }
      if child + 1 < rows.count, isBefore(rows[child], rows[child + 1]) { child += 1 }
      guard isBefore(rows[parent], rows[child]) else { return }
      rows.swapAt(parent, child)
      parent = child
    }
  }
}
