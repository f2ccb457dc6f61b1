import DaybookEngine

/// Ranges that leave nothing to test: with them records are counted, and values found, without reading one.
extension IndexPlanner {
  /// Ascending ranges in which each record that passes has its one entry, and no other record has one; nil where there are none.
  /// - Parameter most: as in `ranges(for:atMost:)`.
  func exactRanges(for predicate: Query.Predicate, atMost most: Int = .max) -> [IndexRange]? {
    // Of a list each element has an entry; an asset has that of no value, and is one.
    guard definition.kind == .value, isSingle, !kinds.intersects(KindBits(.asset, isEncrypted: false)) else { return nil }
    switch predicate.term {
    case .constant(let isTrue): return isTrue ? [IndexRange(number: definition.number)] : []
    case .condition(let condition): return exactRanges(for: condition, most)
    case .not(let part): return exactRanges(for: part, atMost: most).map(others)
    case .and(let parts):
      // Intersecting one after the other would take the square of their number.
      var failing: [IndexRange] = []
      for part in parts {
        guard failing.count / 2 <= most, let some = exactRanges(for: part, atMost: most) else { return nil }
        failing += others(some)
      }
      return others(IndexRange.union(failing))
    case .or(let parts):
      var all: [IndexRange] = []
      for part in parts {
        guard all.count <= most, let some = exactRanges(for: part, atMost: most) else { return nil }
        all += some
      }
      return IndexRange.union(all)
    }
  }

  private func exactRanges(for condition: Query.Condition, _ most: Int) -> [IndexRange]? {
    func isExact(_ operand: Query.Operand) -> Bool {
      if case .value(let value) = operand { self.isExact(value) } else { true }
    }
    switch condition.test {
    case .compare(.notEqual, let operand):
      let equality = Query.Condition(condition.field, .compare(.equal, operand), condition.options)
      return exactRanges(for: equality, most).map { IndexRange.intersection(others($0), [something]) }
    case .compare(_, let operand): if !isExact(operand) { return nil }
    case .between(let lower, let upper): if !isExact(lower) || !isExact(upper) { return nil }
    case .isIn(let values): if values.count > most || !values.allSatisfy({ self.isExact($0) }) { return nil }
    case .text(.prefix, let text): if !isExact(.value(.string(text.text))) { return nil }
    case .isAbsent: break
    case .contains, .text, .words, .distance: return nil
    }
    return ranges(for: .init(condition))
  }

  /// Whether a constant's entries are those of no other value.
  private func isExact(_ value: Record.Value) -> Bool {
    switch value {
    case .int, .double, .date: true
    // Zeros take two bytes in a key.
    case .string, .bytes: prefix(of: value).withView { !IndexKey.isInexact($0, valueEnd: $0.count) }
    default: false
    }
  }

  /// The rest of the index.
  private func others(_ ranges: [IndexRange]) -> [IndexRange] {
    var result: [IndexRange] = []
    var rest = IndexRange(number: definition.number)
    for range in ranges {
      result.append(IndexRange(lower: rest.lower, upper: range.lower))
      rest.lower = range.upper
    }
    result.append(rest)
    return IndexRange.union(result)
  }
}
