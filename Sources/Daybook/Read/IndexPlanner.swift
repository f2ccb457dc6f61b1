#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine

/// The ranges of an index of values, or of places, that a predicate allows. Every record that passes has an entry in one of them.
/// Others may, too, so the caller tests each record. Words are `WordPlanner`'s.
///
/// Belongs to the thread that made it.
struct IndexPlanner {
  let definition: IndexDefinition
  /// The kinds that the field has had.
  let kinds: KindBits
  let dialect: Query.Dialect
  /// What `now()` is.
  let now: Date

  init(definition: IndexDefinition, kinds: KindBits, dialect: Query.Dialect, now: Date) {
    self.definition = definition
    self.kinds = definition.date == nil ? kinds : KindBits(.date, isEncrypted: false)
    self.dialect = dialect
    self.now = now
  }

  /// What keys are made in.
  private let buffer = ByteBuffer(capacity: 64)

  private func beginKey() {
    buffer.truncate(to: 0)
    IndexKey.appendNumber(definition.number, to: buffer)
  }

  /// Whether the index is of a field.
  func isOf(_ field: Query.Field) -> Bool { definition.isOf(field) }

  /// The field has never had a list or anything else of which a record has more than one entry.
  var isSingle: Bool { !kinds.intersects(KindBits(rawValue: 0x0000_FF00)) }

  /// The order of the index is that of the field's values: numbers, dates, texts and bytes.
  var isSortable: Bool {
    guard definition.kind == .value else { return false }
    var sortable = KindBits(rawValue: 0)
    for kind in [FieldKind.int, .double, .date, .string, .bytes] {
      sortable = sortable.union(KindBits(kind, isEncrypted: false))
    }
    return sortable.contains(kinds)
  }

  /// Ascending ranges that do not meet; nil where the predicate leaves the whole index, or records without an entry.
  /// - Parameter most: where a list of constants, or an OR, would make more, it is nil, too: a plan may spend so many descents only, and
  ///   millions of ranges take seconds to be put in order.
  func ranges(for predicate: Query.Predicate, atMost most: Int = .max) -> [IndexRange]? {
    switch predicate.term {
    case .constant(let isTrue): return isTrue ? nil : []
    case .condition(let condition): return ranges(for: condition, most).map(IndexRange.union)
    case .not: return nil
    case .or(let parts):
      var all: [IndexRange] = []
      for part in parts {
        guard all.count <= most, let some = ranges(for: part, atMost: most) else { return nil }
        all += some
      }
      return IndexRange.union(all)
    case .and(let parts):
      var all: [[IndexRange]] = []
      for part in parts {
        guard let some = ranges(for: part, atMost: most) else { continue }
        // Of a list one element may pass the one part, and another the other.
        if !isSingle { return some }
        all.append(some)
      }
      // The fewest first: what is left is walked over once for each part.
      all.sort { $0.count < $1.count }
      guard var result = all.first else { return nil }
      for some in all.dropFirst() { result = IndexRange.intersection(result, some) }
      return result
    }
  }

  /// Whether the ranges are all that a predicate tests, about: for an estimate.
  func isAll(of predicate: Query.Predicate) -> Bool {
    switch predicate.term {
    case .constant(let isTrue): isTrue
    case .condition(let condition): ranges(for: condition, .max) != nil
    case .not: false
    case .and(let parts): parts.allSatisfy { isAll(of: $0) }
    case .or: ranges(for: predicate) != nil
    }
  }

  private func ranges(for condition: Query.Condition, _ most: Int) -> [IndexRange]? {
    guard isOf(condition.field) else { return nil }
    switch definition.kind {
    case .value: return valueRanges(for: condition, most)
    case .location: return placeRanges(for: condition)
    case .text, nil: return nil
    }
  }

  /// The cells of the circle, and the places that have none.
  private func placeRanges(for condition: Query.Condition) -> [IndexRange]? {
    guard case .distance(let comparison, let center, let kilometres) = condition.test,
      comparison == .less || comparison == .lessOrEqual || comparison == .equal,
      let cells = LocationCover.ranges(around: center, metres: kilometres * 1000)
    else { return nil }
    if cells.isEmpty { return [] }
    func key(_ cell: UInt64, isEnd: Bool) -> [UInt8] {
      beginKey()
      IndexKey.append(cell: cell, to: buffer)
      if isEnd { buffer.append(IndexKey.afterNames) }
      return buffer.view.array
    }
    let number = IndexRange(number: definition.number).lower
    return cells.map { IndexRange(lower: key($0.lowerBound, isEnd: false), upper: key($0.upperBound, isEnd: true)) }
      + [IndexRange(lower: number + [IndexKey.Rank.otherPlace], upper: number + [IndexKey.Rank.otherPlace + 1])]
  }

  private func valueRanges(for condition: Query.Condition, _ most: Int) -> [IndexRange]? {
    let equality = dialect == .cloudKit ? condition.options.union(.ignoringCase) : condition.options
    switch condition.test {
    case .isAbsent: return [nothing]
    case .compare(.equal, let operand): return equal(value(of: operand), equality)
    case .compare(.notEqual, _): return nil
    case .compare(let comparison, let operand): return ordered(comparison, value(of: operand))
    case .between(let lower, let upper):
      guard let first = ordered(.greaterOrEqual, value(of: lower)), let last = ordered(.lessOrEqual, value(of: upper)) else {
        return nil
      }
      return IndexRange.intersection(first, last)
    case .isIn(let values):
      if values.count > most { return nil }
      var all: [IndexRange] = []
      for value in values {
        guard let some = equal(value, equality) else { return nil }
        all += some
      }
      return all
    case .contains(let value):
      // What contains a text is a text around it, or a list that has it.
      if condition.field.isAny && !isMutant("any-text-as-element") { return nil }
      if case .string = value, kinds.intersects(KindBits(.string, isEncrypted: false)) { return nil }
      return equal(value, equality)
    case .text(.prefix, let text):
      guard condition.options.isEmpty else { return nil }
      beginKey()
      buffer.append(IndexKey.Rank.text)
      UTF8Order.withView(of: text.text) { IndexKey.appendStart(of: $0, to: buffer) }
      let lower = buffer.view.array
      return [IndexRange(lower: lower, upper: IndexRange.successor(of: lower))]
    case .text, .words, .distance: return nil
    }
  }

  /// Of records without a value.
  var nothing: IndexRange { IndexRange(ofNothingIn: definition.number) }

  /// Of records with one.
  var something: IndexRange { IndexRange(ofSomethingIn: definition.number) }

  private func value(of operand: Query.Operand) -> Record.Value {
    switch operand {
    case .now: .date(now)
    case .value(let value): value
    }
  }

  /// Number and value of the entries that a constant has.
  func prefix(of value: Record.Value) -> [UInt8] {
    beginKey()
    IndexKey.append(value, to: buffer)
    return buffer.view.array
  }

  private func isUsable(_ value: Record.Value) -> Bool {
    switch value {
    case .double(let number): !number.isNaN
    case .date(let date): !date.timeIntervalSinceReferenceDate.isNaN
    case .location(let place): !place.latitude.isNaN && !place.longitude.isNaN
    case .asset: false
    default: !value.kind.isList
    }
  }

  private func equal(_ value: Record.Value, _ options: Query.TextOptions) -> [IndexRange]? {
    guard isUsable(value), options.isEmpty || value.kind != .string else { return nil }
    let prefix = prefix(of: value)
    buffer.append(IndexKey.afterNames)
    return [IndexRange(lower: prefix, upper: buffer.view.array)]
  }

  private func ordered(_ comparison: Query.Comparison, _ value: Record.Value) -> [IndexRange]? {
    guard isUsable(value), let rank = ValueOrder.rank(value.kind), rank <= 3 else { return nil }
    let prefix = prefix(of: value)
    let first = Array(prefix.prefix(IndexKey.numberByteCount + 1))
    let (start, end) = (first, IndexRange.successor(of: first))
    let isInexact = prefix.withView { IndexKey.isInexact($0, valueEnd: $0.count) }
    let after = prefix + [IndexKey.afterNames]
    switch comparison {
    case .less: return [IndexRange(lower: start, upper: isInexact ? after : prefix)]
    case .lessOrEqual: return [IndexRange(lower: start, upper: isMutant("end-range-before-equal") ? prefix : after)]
    case .greater: return [IndexRange(lower: isInexact ? prefix : after, upper: end)]
    case .greaterOrEqual: return [IndexRange(lower: prefix, upper: end)]
    case .equal, .notEqual: return nil
    }
  }
}

extension IndexRange {
  /// In an index of values: of records without one.
  init(ofNothingIn number: UInt16) {
    let start = IndexRange(number: number).lower
    self.init(lower: start + [IndexKey.Rank.nothing], upper: start + [IndexKey.Rank.nothing + 1])
  }

  /// In an index of values: of records with one.
  init(ofSomethingIn number: UInt16) {
    let start = IndexRange(number: number).lower
    self.init(lower: start, upper: start + [IndexKey.Rank.nothing])
  }

  var isEmpty: Bool { !lower.lexicographicallyPrecedes(upper) }

  /// The least bytes after all that begin with some.
  static func successor(of bytes: [UInt8]) -> [UInt8] {
    var result = bytes
    while let last = result.last {
      if last < 255 {
        result[result.count - 1] = last + 1
        return result
      }
      result.removeLast()
    }
    return result
  }

  static func union(_ ranges: [IndexRange]) -> [IndexRange] {
    if isUnion(ranges) { return ranges }
    var result: [IndexRange] = []
    for range in ranges.filter({ !$0.isEmpty }).sorted(by: { $0.lower.lexicographicallyPrecedes($1.lower) }) {
      if let last = result.last, !last.upper.lexicographicallyPrecedes(range.lower) {
        if last.upper.lexicographicallyPrecedes(range.upper) { result[result.count - 1].upper = range.upper }
      } else {
        result.append(range)
      }
    }
    return result
  }

  /// Whether ranges ascend already, none is empty, and no two meet.
  private static func isUnion(_ ranges: [IndexRange]) -> Bool {
    for (index, range) in ranges.enumerated() {
      if range.isEmpty || index > 0 && !ranges[index - 1].upper.lexicographicallyPrecedes(range.lower) { return false }
    }
    return true
  }

  /// What two lists of ranges share, each of which ascends and has no two ranges that meet.
  static func intersection(_ first: [IndexRange], _ second: [IndexRange]) -> [IndexRange] {
    var result: [IndexRange] = []
    var (i, j) = (0, 0)
    while i < first.count, j < second.count {
      let (a, b) = (first[i], second[j])
      let lower = a.lower.lexicographicallyPrecedes(b.lower) ? b.lower : a.lower
      let endsFirst = a.upper.lexicographicallyPrecedes(b.upper)
      let both = IndexRange(lower: lower, upper: endsFirst ? a.upper : b.upper)
      if !both.isEmpty { result.append(both) }
      if endsFirst { i += 1 } else { j += 1 }
    }
    return result
  }
}
