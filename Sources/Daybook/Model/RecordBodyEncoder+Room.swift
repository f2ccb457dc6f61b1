import DaybookEngine

/// How large a record may become, asked before its values are written: an encoder that finds out when all is written has
/// asked the system for twice as much memory as the values take.
///
/// Most records are short, and nobody adds up their values first. Where a value would reach beyond what is usual, all of them
/// are added up, once.
extension RecordBodyEncoder {
  package struct Room: Sendable {
    /// The longest operation of a log.
    package static let formatByteCount = 1 << 30
    /// So much is written unasked.
    private static let usualByteCount = 8 << 20

    /// Bytes of the whole body.
    var byteCount = Room.formatByteCount
    /// Bytes of keys and values without the contents of assets: the caller's limit.
    var recordByteCount = Int.max
    /// Where the body begins in its buffer.
    var start = 0
    private var isMeasured = false

    package init(byteCount: Int = Room.formatByteCount, recordByteCount: Int = .max) {
      self.byteCount = byteCount
      self.recordByteCount = recordByteCount
    }

    /// Whether the next value makes the body longer than usual.
    @inline(__always)
    func isShort(for value: Record.Value?, at offset: Int) -> Bool {
      guard !isMeasured, let value else { return false }
      return isShort(for: value.leastByteCount, at: offset)
    }

    @inline(__always)
    func isShort(for byteCount: Int, at offset: Int) -> Bool {
      !isMeasured && byteCount > Room.usualByteCount &- min(offset &- start, Room.usualByteCount)
    }

    /// Adds up what a record sets, and what is copied beside it.
    /// - Throws: `limitExceeded` with the longest value's key.
    @inline(never)
    mutating func measure(_ record: Record, _ edits: FieldEdits, storedByteCount: Int = 0) throws(DatabaseError) {
      isMeasured = true
      var own = 0
      var inline = 0
      var longest: (key: String?, byteCount: Int) = (nil, 0)
      for index in edits.indices {
        let edit = edits[index]
        guard let value = edit.value else { continue }
        let byteCount = record.body.withZoneKey { ValueCoding.byteCount(of: value, zoneKey: $0) }
        own = own.adding(byteCount).adding(RecordBody.tableStride + edit.key.utf8.count)
        inline = inline.adding(value.inlineByteCount)
        let all = byteCount.adding(value.inlineByteCount)
        if all > longest.byteCount { longest = (edit.key, all) }
      }
      let all = own.adding(inline).adding(storedByteCount)
      guard own > recordByteCount || all > byteCount else { return }
      throw DatabaseError(
        .limitExceeded, "The record is too large.",
        facts: .init(
          zone: record.id.zone, name: record.id.name, key: longest.key, size: own > recordByteCount ? own : all,
          limit: own > recordByteCount ? recordByteCount : byteCount))
    }
  }
}

extension Record.Value {
  /// Bytes that the value takes at least; nothing for kinds that are always short.
  @inline(__always)
  fileprivate var leastByteCount: Int {
    switch self {
    case .string(let text): text.utf8.count
    case .bytes(let data): data.count
    case .int, .double, .date, .location, .reference: 0
    default: longByteCount
    }
  }

  @inline(never)
  private var longByteCount: Int {
    switch self {
    case .strings(let list): Self.byteCount(of: list)
    case .bytesList(let list): list.reduce(0) { $0.adding($1.count) }
    case .ints(let list): list.count
    case .doubles(let list): list.count.multiplying(8)
    case .dates(let list): list.count.multiplying(8)
    case .locations(let list): list.count.multiplying(17)
    case .references(let list): list.count.multiplying(3)
    default: inlineByteCount
    }
  }
}

extension Record.Value {
  /// By index: a closure that adds up is ten times as long without optimisation.
  private static func byteCount(of list: [String]) -> Int {
    var sum = 0
    for index in list.indices { sum = sum.adding(list[index].utf8.count) }
    return sum
  }
}

extension Int {
  /// The sum, or the largest number: sizes are compared, and a size beyond all limits stays beyond them.
  @inline(__always)
  func adding(_ other: Int) -> Int {
    let (sum, isTooLarge) = addingReportingOverflow(other)
    return isTooLarge ? .max : sum
  }

  fileprivate func multiplying(_ other: Int) -> Int {
    let (product, isTooLarge) = multipliedReportingOverflow(by: other)
    return isTooLarge ? .max : product
  }
}
