#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine

/// A walk over the values of an index, each with the number of its entries. Values of few entries are counted one by one, others by
/// looking for their ends.
struct IndexValues {
  private let reader: TreeReader
  private let root: TreeRoot
  private let kinds: KindBits
  private var cursor: Cursor
  private let key = ByteBuffer(capacity: 512)
  /// The index does not know a value: a text was cut, or the kind is not stored as it is.
  private(set) var isLost = false

  private static let walkedCount = 16

  init(_ reader: TreeReader, _ root: TreeRoot, kinds: KindBits) {
    self.reader = reader
    self.root = root
    self.kinds = kinds
    cursor = reader.cursor(in: root)
  }

  /// Calls `body` with each value of a range and the number of its entries. Ends early where the walk is lost.
  mutating func forEach<E>(
    in range: IndexRange, orThrow map: (PageFault) -> E, _ body: (Record.Value, UInt64) throws(E) -> Void
  ) throws(E) {
    do throws(PageFault) {
      guard try range.lower.withView({ (lower) throws(PageFault) in try cursor.seek(lower) }) else { return }
    } catch { throw map(error) }
    while !isLost {
      let found: (value: Record.Value, count: UInt64)?
      do throws(PageFault) { found = try group(upTo: range.upper) } catch { throw map(error) }
      guard let found else { return }
      try body(found.value, found.count)
    }
  }

  /// The value that the cursor is on, which moves past its entries; nil at the end, where none is, and where the walk is lost.
  private mutating func group(upTo upper: [UInt8]) throws(PageFault) -> (value: Record.Value, count: UInt64)? {
    guard cursor.isValid else { return nil }
    cursor.key(into: key)
    if upper.withView({ compareKeys(key.view, $0) >= 0 }) { return nil }
    guard let end = IndexKey.valueEnd(in: key.view) else { throw reader.fault(in: root) }
    guard key.view[IndexKey.numberByteCount] != IndexKey.Rank.nothing else { return nil }
    guard let value = IndexKey.value(in: key.view, valueEnd: end, kinds: kinds) else {
      isLost = true
      return nil
    }
    let prefix = key.view.prefix(end).array
    var count: UInt64 = 0
    while cursor.isValid, count < Self.walkedCount {
      cursor.key(into: key)
      guard isOf(prefix) else { return (value, count) }
      count += 1
      try cursor.next()
    }
    if !cursor.isValid { return (value, count) }
    let after = prefix + [IndexKey.afterNames]
    count = try IndexRange(lower: prefix, upper: after).count(in: root, reader)
    _ = try after.withView { (view) throws(PageFault) in try cursor.seek(view) }
    return (value, count)
  }

  private func isOf(_ prefix: [UInt8]) -> Bool {
    key.count > prefix.count && prefix.withView({ UTF8Order.equal(key.view.prefix(prefix.count), $0) })
      && key.view[prefix.count] != IndexKey.afterNames
  }
}

extension IndexKey {
  /// The value of an entry; nil where the entry does not have all of it.
  /// - Parameter kinds: that the field has had.
  static func value(in key: ByteView, valueEnd: Int, kinds: KindBits) -> Record.Value? {
    if isInexact(key, valueEnd: valueEnd) { return nil }
    let start = numberByteCount + 1
    switch key[numberByteCount] {
    case Rank.number:
      let double = double(key.bigEndianUInt64(at: start))
      if valueEnd > start + 8 {
        let rest = Int64(key[start + 9]) << 8 | Int64(key[start + 10])
        return Int64(exactly: double).map { .int($0 &+ rest) }
      }
      return canonical(.double(double), kinds)
    case Rank.date: return .date(Date(timeIntervalSinceReferenceDate: double(key.bigEndianUInt64(at: start))))
    case Rank.text, Rank.bytes:
      var bytes: [UInt8] = []
      var index = start
      while index < valueEnd - 1 {
        bytes.append(key[index])
        index += key[index] == 0 ? 2 : 1
      }
      if key[numberByteCount] == Rank.bytes { return .bytes(Data(bytes)) }
      return bytes.withView { UTF8Order.string($0, isValid: false) }.map { .string($0) }
    default: return nil
    }
  }

  /// A value as it is counted: a number as the one kind that the field has had, and of both as an integer where it is one; a reference
  /// by what it points to.
  static func canonical(_ value: Record.Value, _ kinds: KindBits) -> Record.Value {
    switch value {
    case .double(let number):
      let isInt = kinds.intersects(KindBits(.int, isEncrypted: false).union(KindBits(.ints, isEncrypted: false)))
      guard isInt, let integer = Int64(exactly: number) else { return value }
      return .int(integer)
    case .reference(let reference): return .reference(Record.Reference(reference.id))
    default: return value
    }
  }

  private static func double(_ bits: UInt64) -> Double {
    let sign: UInt64 = 1 << 63
    return Double(bitPattern: bits & sign == 0 ? ~bits : bits & ~sign)
  }
}
