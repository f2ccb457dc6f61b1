#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What a predicate means, said of a record in memory. Every faster way of finding records is held to this one, so it is plain. Only where
/// texts are so long that being plain would take as much time as the square of them, it looks as `BodyFilter` does.
struct PredicateMeaning {
  let record: Record
  /// What `now()` is.
  let now: Date
  let dialect: Query.Dialect

  func accepts(_ predicate: Query.Predicate) -> Bool {
    switch predicate.term {
    case .constant(let isTrue): isTrue
    case .condition(let condition): accepts(condition)
    case .and(let parts): parts.allSatisfy { accepts($0) }
    case .or(let parts): parts.contains { accepts($0) }
    case .not(let part): !accepts(part)
    }
  }

  /// The value of a field; nil when it is absent.
  static func value(of field: Query.Field, in record: Record) -> Record.Value? {
    switch field.system {
    case nil: record[field.name]
    case .recordID: .reference(Record.Reference(record.id))
    case .recordName: .string(record.id.name)
    case .recordType: .string(record.type)
    case .creationDate: record.metadata.flatMap { date($0.creationDate) }
    case .modificationDate: record.metadata.flatMap { date($0.modificationDate) }
    case .creatorUserRecordID: record.metadata?.creatorUserID.map { .string($0) }
    case .lastModifiedUserRecordID: record.metadata?.lastModifiedUserID.map { .string($0) }
    case .modifiedByDevice: record.metadata?.modifiedByDevice.map { .string($0) }
    case .recordChangeTag: record.changeTag.map { .string($0) }
    case .parent: record.parent.map { .reference($0) }
    case .text: nil
    }
  }

  private static func date(_ date: Date) -> Record.Value? {
    date.timeIntervalSinceReferenceDate.isNaN ? nil : .date(date)
  }

  private func accepts(_ condition: Query.Condition) -> Bool {
    if condition.field.system == .text {
      guard case .words = condition.test else { return false }
      let values = record.keys.compactMap { record[$0] as Record.Value? }
      return values.contains { passes($0, condition.test, []) }
    }
    let value = PredicateMeaning.value(of: condition.field, in: record)
    if condition.test == .isAbsent { return value == nil }
    guard let value else { return false }
    guard condition.field.isAny else { return passes(value, condition.test, condition.options) }
    return (value.elements ?? [value]).contains { passes($0, condition.test, condition.options) }
  }

  private func passes(_ value: Record.Value, _ test: Query.Condition.Test, _ options: Query.TextOptions) -> Bool {
    switch test {
    case .compare(.equal, let operand): return equal(value, constant(operand), options)
    case .compare(.notEqual, let operand): return !equal(value, constant(operand), options)
    case .compare(let comparison, let operand): return compare(value, comparison, constant(operand))
    case .between(let lower, let upper):
      return compare(value, .greaterOrEqual, constant(lower)) && compare(value, .lessOrEqual, constant(upper))
    case .isIn(let constants): return constants.contains { equal(value, $0, options) }
    case .contains(let constant):
      if case .string(let text) = value, case .string(let part) = constant {
        let text = Folding.scalars(text, options)
        let part = Folding.scalars(part, options)
        return has(part, in: text)
      }
      return value.elements?.contains { equal($0, constant, options) } ?? false
    case .text(let match, let other):
      guard case .string(let text) = value else { return false }
      let scalars = Folding.scalars(text, options)
      switch match {
      case .prefix: return scalars.starts(with: Folding.scalars(other.text, options))
      case .suffix: return scalars.reversed().starts(with: Folding.scalars(other.text, options).reversed())
      case .pattern: return isLike(LikePattern(other.text, options), text, scalars, options)
      }
    case .words(let words):
      let wanted = SearchWords.words(of: words.text).map { $0.unicodeScalars.map(\.value) }
      let texts: [String] =
        switch value {
        case .string(let text): [text]
        case .strings(let list): list
        default: []
        }
      return texts.contains { text in
        UTF8Order.withView(of: text) { bytes in
          if PredicateMeaning.isPlain(wanted.count, bytes.count) {
            return wanted.contains { SearchWords.has($0[...], in: bytes) }
          }
          return !SearchWords.all(of: bytes).isDisjoint(with: wanted)
        }
      }
    case .distance(let comparison, let place, let kilometres):
      guard case .location(let other) = value else { return false }
      return ValueOrder.accepts(other.distance(to: place), comparison, kilometres * 1000)
    case .isAbsent: return false
    }
  }

  /// Whether so much is looked for in so much in the plain way.
  private static func isPlain(_ wanted: Int, _ count: Int) -> Bool { wanted * count <= 1 << 20 }

  private func has(_ part: [UInt32], in text: [UInt32]) -> Bool {
    if part.isEmpty { return true }
    if PredicateMeaning.isPlain(part.count, text.count) {
      return (0..<text.count).contains { text[$0...].starts(with: part) }
    }
    let fallbacks = TextParts.fallbacks(of: part)
    var count = 0
    return text.contains { scalar in
      count = TextParts.seen(after: count, scalar, part, fallbacks, from: 0)
      return count == part.count
    }
  }

  private func isLike(
    _ pattern: LikePattern, _ text: String, _ scalars: [UInt32], _ options: Query.TextOptions
  ) -> Bool {
    if PredicateMeaning.isPlain(pattern.pieces.count, scalars.count) { return pattern.matches(scalars[...]) }
    var parts = TextParts()
    parts.append(pattern)
    return UTF8Order.withView(of: text) { parts.isLike(0..<parts.count, Folding($0, options)) }
  }

  private func constant(_ operand: Query.Operand) -> Record.Value {
    switch operand {
    case .now: .date(now)
    case .value(let value): value
    }
  }

  /// CloudKit's equality of texts does not see letters' case.
  private func equal(_ value: Record.Value, _ constant: Record.Value, _ options: Query.TextOptions) -> Bool {
    ValueOrder.equal(value, constant, dialect == .cloudKit ? options.union(.ignoringCase) : options)
  }

  private func compare(_ value: Record.Value, _ comparison: Query.Comparison, _ constant: Record.Value) -> Bool {
    ValueOrder.areOrdered(value.kind, constant.kind) && !ValueOrder.isUnordered(value) && !ValueOrder.isUnordered(constant)
      && comparison.accepts(ValueOrder.compare(value, constant))
  }
}

/// The pattern of LIKE.
struct LikePattern: Sendable {
  /// A scalar, or one of the wildcards.
  enum Piece: Hashable, Sendable {
    case scalar(UInt32)
    case one
    case many
  }

  let pieces: [Piece]

  init(_ text: String, _ options: Query.TextOptions) {
    var pieces: [Piece] = []
    var plain = String.UnicodeScalarView()
    func flush() {
      pieces += Folding.scalars(String(plain), options).map { .scalar($0) }
      plain = String.UnicodeScalarView()
    }
    var isEscaped = false
    for scalar in text.unicodeScalars {
      if isEscaped {
        plain.append(scalar)
        isEscaped = false
      } else if scalar == "\\" {
        isEscaped = true
      } else if scalar == "?" || scalar == "*" {
        flush()
        if scalar == "?" || pieces.last != .many { pieces.append(scalar == "?" ? .one : .many) }
      } else {
        plain.append(scalar)
      }
    }
    if isEscaped { plain.append("\\") }
    flush()
    self.pieces = pieces
  }

  /// Whether all of some scalars are like the pattern: each piece in turn, tried in every way.
  func matches(_ scalars: ArraySlice<UInt32>) -> Bool {
    // Which beginnings of the pattern fit what was seen.
    var fits = [Bool](repeating: false, count: pieces.count + 1)
    fits[0] = true
    func spread() {
      for (index, piece) in pieces.enumerated() where piece == .many && fits[index] { fits[index + 1] = true }
    }
    spread()
    for scalar in scalars {
      var next = [Bool](repeating: false, count: pieces.count + 1)
      for (index, piece) in pieces.enumerated() where fits[index] {
        switch piece {
        case .scalar(let wanted): if wanted == scalar { next[index + 1] = true }
        case .one: next[index + 1] = true
        case .many: next[index] = true
        }
      }
      fits = next
      spread()
    }
    return fits[pieces.count]
  }
}

extension Query.Predicate {
  /// Whether the predicate accepts a record, with the changes that were made to it and not saved. One that nests deeper than queries
  /// may accepts nothing, and neither does its negation.
  /// - Parameters:
  ///   - now: what `now()` is.
  ///   - dialect: in ``Dialect/cloudKit`` the equality of texts does not see letters' case.
  public func matches(_ record: Record, now: Date = Date(), dialect: Dialect = .extended) -> Bool {
    PredicateMeaning(record: record, now: now, dialect: dialect).accepts(self)
  }
}
