import Daybook
import DaybookEngine

extension Database {
  /// The names of a zone's records from behind `name` on, without touching a single body: the way past a damaged one.
  ///
  /// Reads the catalog (root 0) and the zone's tree of names (its first); FORMAT.md has both.
  /// - Throws: `corrupted` when a page of these trees is damaged.
  func forEachName(in zone: Zone.ID, after name: String?, _ body: (String) throws -> Void) throws {
    let (store, pin) = try pinned()
    defer { store.endRead(pin) }
    let start: [UInt8] = if let name { NameKey.key(of: name) + [0] } else { [] }
    let cell = try reading { () throws(PageFault) in
      try zone.key.withView { (key) throws(PageFault) in try pin.reader.catalogValue(key, in: pin.root(0)) }
    }
    guard let cell, cell.rootCount > 0 else { return }
    var cursor = pin.reader.cursor(in: cell.root(0))
    let key = ByteBuffer(capacity: 256)
    var isValid = try reading { () throws(PageFault) in
      try start.withView { (view) throws(PageFault) in try cursor.seek(view) }
    }
    while isValid {
      cursor.key(into: key)
      guard let text = NameKey.name(of: key.view).withView({ UTF8Order.string($0, isValid: false) }) else {
        throw DatabaseError(.corrupted, "A record's name is damaged.", facts: .init(zone: zone))
      }
      try body(text)
      isValid = try reading { () throws(PageFault) in try cursor.next() }
    }
  }

  /// The first names of a zone, for a guess of what was meant; fewer where a page is damaged.
  func firstNames(in zone: Zone.ID, atMost limit: Int = 10_000) throws -> [String] {
    struct Enough: Error {}
    var names: [String] = []
    do {
      try forEachName(in: zone, after: nil) { name in
        if names.count == limit { throw Enough() }
        names.append(name)
      }
    } catch is Enough {} catch let error as DatabaseError where error.code == .corrupted {}
    return names
  }

  private func reading<R>(_ body: () throws(PageFault) -> R) throws(DatabaseError) -> R {
    do { return try body() } catch {
      throw DatabaseError(
        .corrupted, "A page of the file is damaged.", facts: .init(path: path, offset: error.offset.map { Int(clamping: $0) }),
        cause: error)
    }
  }
}
