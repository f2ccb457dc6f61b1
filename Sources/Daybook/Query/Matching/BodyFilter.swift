#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine

/// A predicate made ready for many records, which it looks at where they lie encoded: no record, no string and no allocation
/// for one that does not pass (a condition on the change tag makes a string). ``PredicateMeaning`` says what it answers.
///
/// The tests are in a row, and each says where to go on when it passes and when it does not; and, or and not are only in
/// these directions.
///
///     year > 2000 AND (genre == 'Drama' OR NOT seen == 1)
///
///     0  year > 2000       1, no
///     1  genre == 'Drama'  yes, 2
///     2  seen == 1         no, yes
///
/// Belongs to the thread that made it.
final class BodyFilter {
  static let yes = -1
  static let no = -2

  /// What a step does with the value of its field.
  enum Work {
    case isAbsent
    case equal, notEqual
    case order(Query.Comparison)
    case between
    case isIn, isInSorted
    /// Of texts whose case or accents do not count.
    case isInFolded
    case contains
    case prefix, suffix, pattern
    case words
    case distance(Query.Comparison, metres: Double)
  }

  struct Step {
    var work: Work
    let system: Query.SystemField?
    let isAny: Bool
    let options: Query.TextOptions
    /// Of CONTAINS in a text: the equality of elements may have other options.
    let partOptions: Query.TextOptions
    /// Where the key is in the pool.
    let keyBytes: Range<Int>
    /// The key's bytes, once the pool has all.
    var key: ByteView
    var constants: Range<Int>
    var scalars: Range<Int>
    var words: Range<Int>
    /// What CONTAINS looks for, or a pattern between its stars.
    var parts: Range<Int>
    var place: Location?
    var onTrue: Int
    var onFalse: Int
  }

  /// Keys and constants; the views below lie in it, and it does not change once they are made.
  private let pool: ByteBuffer
  let steps: [Step]
  let constants: [ValueView]
  /// Texts with case or accents taken away.
  let scalars: [UInt32]
  /// Words to search for, or the texts of an IN, as ranges of `scalars`, those of a step in their order.
  let words: [Range<Int>]
  private let parts: TextParts
  private let start: Int

  /// - Parameter now: what `now()` is.
  init(_ predicate: Query.Predicate, dialect: Query.Dialect, now: Date) {
    var compiler = FilterCompiler(dialect, now)
    start = compiler.compile(predicate)
    pool = compiler.pool
    compiler.finishSteps()
    steps = compiler.steps
    constants = compiler.finishedConstants()
    scalars = compiler.scalars
    words = compiler.words
    parts = compiler.parts
  }

  /// Whether every record passes.
  var acceptsAll: Bool { start == Self.yes }
  /// Whether none does.
  var acceptsNone: Bool { start == Self.no }

  /// Whether the values of fields say all: no condition is about another part of the record, or about any text in it.
  var asksForFieldsAlone: Bool { steps.allSatisfy { $0.system == nil } }

  /// Whether a record passes.
  /// - Parameter value: the value of the field that a step asks for; nil when there is none.
  @inline(__always)
  func accepts(_ value: (Int) -> ValueView?) -> Bool {
    var position = start
    while position >= 0 {
      position = test(steps[position], value(position)) ? steps[position].onTrue : steps[position].onFalse
    }
    return position == Self.yes
  }

  /// Whether a record passes.
  func accepts(_ body: RecordBody) -> Bool {
    var position = start
    while position >= 0 {
      position = passes(steps[position], body) ? steps[position].onTrue : steps[position].onFalse
    }
    return position == Self.yes
  }

  private func passes(_ step: Step, _ body: RecordBody) -> Bool {
    switch step.system {
    case nil: return body.withValue(step.key) { test(step, $0) }
    case .text: return textsPass(step, body)
    case let system?: return body.withSystemValue(system) { test(step, $0) }
    }
  }

  private func textsPass(_ step: Step, _ body: RecordBody) -> Bool {
    body.withFields { cursor in
      while let field = cursor.next() {
        guard !field.mark.isEncrypted, let kind = field.mark.kind, kind == .string || kind == .strings,
          let value = ValueView(kind, field.value, zoneKey: field.value)
        else { continue }
        if passes(step, value) { return true }
      }
      return false
    }
  }

  private func test(_ step: Step, _ value: ValueView?) -> Bool {
    if case .isAbsent = step.work { return value == nil }
    guard let value else { return false }
    guard step.isAny, value.kind.isList else { return passes(step, value) }
    var elements = value.elements
    while let element = elements.next() {
      if passes(step, element) { return true }
    }
    return false
  }

  /// How many comparisons a record may take, about.
  var comparisonCount: Int {
    steps.reduce(0) { sum, step in
      if case .isIn = step.work { sum &+ max(1, step.constants.count) } else { sum &+ 1 }
    }
  }

  private func passes(_ step: Step, _ value: ValueView) -> Bool {
    switch step.work {
    case .isAbsent: return false
    case .equal: return ViewOrder.equal(value, constants[step.constants.lowerBound], step.options)
    case .notEqual: return !ViewOrder.equal(value, constants[step.constants.lowerBound], step.options)
    case .order(let comparison): return compare(value, comparison, constants[step.constants.lowerBound])
    case .between:
      return compare(value, .greaterOrEqual, constants[step.constants.lowerBound])
        && compare(value, .lessOrEqual, constants[step.constants.lowerBound + 1])
    case .isIn:
      for index in step.constants where ViewOrder.equal(value, constants[index], step.options) { return true }
      return false
    case .isInSorted:
      var low = step.constants.lowerBound
      var high = step.constants.upperBound
      while low < high {
        let middle = (low + high) / 2
        if ViewOrder.compare(constants[middle], value) < 0 { low = middle + 1 } else { high = middle }
      }
      return low < step.constants.upperBound && ViewOrder.equal(value, constants[low], [])
    case .isInFolded: return value.kind == .string && isListed(step, value.bytes)
    case .contains:
      if value.kind == .string {
        return constants[step.constants.lowerBound].kind == .string && hasPart(step, value.bytes)
      }
      var elements = value.elements
      while let element = elements.next() {
        if ViewOrder.equal(element, constants[step.constants.lowerBound], step.options) { return true }
      }
      return false
    case .prefix: return value.kind == .string && startsWith(step, Folding(value.bytes, step.options))
    case .suffix: return value.kind == .string && endsWith(step, value.bytes)
    case .pattern: return value.kind == .string && isLike(step, value.bytes)
    case .words:
      if value.kind == .string { return hasWord(step, value.bytes) }
      guard value.kind == .strings else { return false }
      var elements = value.elements
      while let element = elements.next() {
        if hasWord(step, element.bytes) { return true }
      }
      return false
    case .distance(let comparison, let metres):
      guard value.kind == .location, let place = value.place, let center = step.place else { return false }
      return ValueOrder.accepts(place.distance(to: center), comparison, metres)
    }
  }

  private func compare(_ value: ValueView, _ comparison: Query.Comparison, _ constant: ValueView) -> Bool {
    // Other kinds have the number 0 here.
    ValueOrder.areOrdered(value.kind, constant.kind) && !value.double.isNaN && !constant.double.isNaN
      && comparison.accepts(ViewOrder.compare(value, constant))
  }
}

extension BodyFilter {
  // MARK: texts

  private func startsWith(_ step: Step, _ text: Folding) -> Bool {
    var text = text
    for index in step.scalars where text.next() != scalars[index] { return false }
    return true
  }

  private func endsWith(_ step: Step, _ bytes: ByteView) -> Bool {
    var count = 0
    var text = Folding(bytes, step.options)
    while text.next() != nil { count += 1 }
    guard count >= step.scalars.count else { return false }
    text = Folding(bytes, step.options)
    for _ in 0..<count - step.scalars.count { _ = text.next() }
    return startsWith(step, text)
  }

  private func hasPart(_ step: Step, _ bytes: ByteView) -> Bool {
    var text = Folding(bytes, step.partOptions)
    return parts.find(step.parts.lowerBound, in: &text)
  }

  /// Words are looked for at once: those that begin as the word of the text does are a range, which each letter makes smaller.
  private func hasWord(_ step: Step, _ bytes: ByteView) -> Bool {
    var text = SearchWords(bytes)
    var range = step.words
    var position = 0
    while let scalar = text.next() {
      if scalar == 0 {
        if isWord(range, position) { return true }
        range = step.words
        position = 0
      } else {
        if !range.isEmpty { narrow(&range, position, scalar) }
        position += 1
      }
    }
    return isWord(range, position)
  }

  /// Whether a text is one of the step's words, which become fewer with each letter.
  private func isListed(_ step: Step, _ bytes: ByteView) -> Bool {
    var text = Folding(bytes, step.options)
    var range = step.words
    var position = 0
    while let scalar = text.next() {
      narrow(&range, position, scalar)
      if range.isEmpty { return false }
      position += 1
    }
    return isWord(range, position)
  }

  /// Whether the first of some words, which begin alike, has no more letters than these.
  private func isWord(_ range: Range<Int>, _ count: Int) -> Bool {
    !range.isEmpty && words[range.lowerBound].count == count
  }

  /// Leaves the words that have a letter at a position.
  private func narrow(_ range: inout Range<Int>, _ position: Int, _ scalar: UInt32) {
    func first(_ range: Range<Int>, notBelow wanted: UInt64) -> Int {
      var low = range.lowerBound
      var high = range.upperBound
      while low < high {
        let middle = (low + high) / 2
        let word = words[middle]
        // One that ends here comes before all that go on.
        let letter = position < word.count ? UInt64(scalars[word.lowerBound + position]) + 1 : 0
        if letter < wanted { low = middle + 1 } else { high = middle }
      }
      return low
    }
    let low = first(range, notBelow: UInt64(scalar) + 1)
    range = low..<first(low..<range.upperBound, notBelow: UInt64(scalar) + 2)
  }

  private func isLike(_ step: Step, _ bytes: ByteView) -> Bool { parts.isLike(step.parts, Folding(bytes, step.options)) }
}

extension RecordBody {
  /// When a record was made or saved last, in place; nil where the bytes do not tell: it was never saved, or what is there is no number.
  static func date(_ field: Query.SystemField, of view: ByteView) -> ValueView? {
    let seconds = view.double(at: field == .creationDate ? creationOffset : modificationOffset)
    return view.uint64(at: 6) == 0 || seconds.isNaN ? nil : ValueView(.date, double: seconds)
  }

  /// Calls `body` with what is known of a record besides its fields; with nil where nothing is.
  func withSystemValue<R>(_ field: Query.SystemField, _ body: (ValueView?) -> R) -> R {
    func text(_ bytes: ByteView?) -> R { body(bytes.map { ValueView(.string, plain: $0) }) }
    switch field {
    case .recordID: return withZoneKey { zone in withName { body(ValueView(referenceTo: $0, zoneKey: zone)) } }
    case .recordName: return withName { text($0) }
    case .recordType: return withType { text($0) }
    case .creationDate, .modificationDate:
      return withBytes { body(Self.date(field, of: $0)) }
    case .creatorUserRecordID: return withOptionals { text(tag == 0 ? nil : $0.creator) }
    case .lastModifiedUserRecordID: return withOptionals { text(tag == 0 ? nil : $0.modifier) }
    case .modifiedByDevice: return withOptionals { text(tag == 0 ? nil : $0.device) }
    case .recordChangeTag:
      guard let tag = changeTag else { return body(nil) }
      return UTF8Order.withView(of: tag) { text($0) }
    case .parent:
      return withOptionals { parts in
        guard let name = parts.parent else { return body(nil) }
        return withZoneKey { body(ValueView(referenceTo: name, zoneKey: $0)) }
      }
    case .text: return body(nil)
    }
  }
}

extension Query.Predicate {
  /// Whether the stored form of a record passes, as a scan finds out: for tests that compare it with what ``matches(_:now:dialect:)``
  /// says.
  package func matchesEncoded(_ record: Record, now: Date, dialect: Dialect) -> Bool {
    BodyFilter(self, dialect: dialect, now: now).accepts(record.body)
  }
}
