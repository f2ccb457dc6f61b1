#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine

/// Makes the steps of a ``BodyFilter``: and, or and not become directions, constants become bytes.
struct FilterCompiler {
  /// From this many constants on IN searches instead of comparing with each.
  private static let searchedCount = 8

  private let dialect: Query.Dialect
  private let now: Date
  let pool = ByteBuffer(capacity: 256)
  private(set) var steps: [BodyFilter.Step] = []
  private(set) var scalars: [UInt32] = []
  private(set) var words: [Range<Int>] = []
  private(set) var parts = TextParts()

  /// A constant before its bytes have found their place.
  private struct Constant {
    let value: Record.Value
    let bytes: Range<Int>
    let zoneKey: Range<Int>
  }

  private var constants: [Constant] = []

  init(_ dialect: Query.Dialect, _ now: Date) {
    self.dialect = dialect
    self.now = now
  }

  /// Returns where to begin.
  mutating func compile(_ predicate: Query.Predicate) -> Int { compile(predicate, BodyFilter.yes, BodyFilter.no) }

  /// Steps are made from the last to the first, so that each knows where it goes on.
  private mutating func compile(_ predicate: Query.Predicate, _ onTrue: Int, _ onFalse: Int) -> Int {
    switch predicate.term {
    case .constant(let isTrue): return isTrue ? onTrue : onFalse
    case .not(let part): return compile(part, onFalse, onTrue)
    case .and(let parts):
      var next = onTrue
      for part in parts.reversed() { next = compile(part, next, onFalse) }
      return next
    case .or(let parts):
      var next = onFalse
      for part in parts.reversed() { next = compile(part, onTrue, next) }
      return next
    case .condition(let condition):
      add(condition, onTrue, onFalse)
      return steps.count - 1
    }
  }

  private mutating func add(_ condition: Query.Condition, _ onTrue: Int, _ onFalse: Int) {
    let firstConstant = constants.count
    let firstScalar = scalars.count
    let firstWord = words.count
    let firstPart = parts.count
    var options = condition.options
    let equality = dialect == .cloudKit ? options.union(.ignoringCase) : options
    var place: Location?
    let work: BodyFilter.Work
    switch condition.test {
    case .isAbsent: work = .isAbsent
    case .compare(let comparison, let operand):
      add(operand)
      if comparison.isEquality { options = equality }
      work = comparison == .equal ? .equal : comparison == .notEqual ? .notEqual : .order(comparison)
    case .between(let lower, let upper):
      add(lower)
      add(upper)
      work = .between
    case .isIn(let values):
      options = equality
      if let texts = foldedTexts(values, options) {
        add(words: texts)
        work = .isInFolded
        break
      }
      // Places and lists are equal by their bytes, and come in another order.
      let isSearched =
        values.count >= Self.searchedCount
        && values.allSatisfy { value in
          guard let rank = ValueOrder.rank(value.kind), rank <= 3 || rank == 5 else { return false }
          return options.isEmpty || value.kind != .string
        }
      for value in isSearched ? values.sorted(by: { ValueOrder.compare($0, $1) < 0 }) : values { add(value) }
      work = isSearched ? .isInSorted : .isIn
    case .contains(let value):
      add(value)
      if case .string(let text) = value { parts.append(Folding.scalars(text, options)) }
      options = equality
      work = .contains
    case .text(let position, let text):
      switch position {
      case .prefix: work = .prefix
      case .suffix: work = .suffix
      case .pattern: work = .pattern
      }
      if position == .pattern {
        parts.append(LikePattern(text.text, options))
      } else {
        scalars += Folding.scalars(text.text, options)
      }
    case .words(let text):
      add(words: SearchWords.words(of: text.text).map { $0.unicodeScalars.map(\.value) })
      work = .words
    case .distance(let comparison, let center, let kilometres):
      place = center
      work = .distance(comparison, metres: kilometres * 1000)
    }
    let keyStart = pool.count
    pool.append(utf8: condition.field.name)
    steps.append(
      BodyFilter.Step(
        work: work, system: condition.field.system, isAny: condition.field.isAny, options: options,
        partOptions: condition.options, keyBytes: keyStart..<pool.count,
        key: pool.view.prefix(0), constants: firstConstant..<constants.count,
        scalars: firstScalar..<scalars.count,
        words: firstWord..<words.count, parts: firstPart..<parts.count, place: place, onTrue: onTrue,
        onFalse: onFalse))
  }

  /// The texts of a long IN without case or accents; nil where it is short, or has other values.
  private func foldedTexts(_ values: [Record.Value], _ options: Query.TextOptions) -> [[UInt32]]? {
    if options.isEmpty || values.count < Self.searchedCount { return nil }
    var texts: [[UInt32]] = []
    for value in values {
      guard case .string(let text) = value else { return nil }
      texts.append(Folding.scalars(text, options))
    }
    return texts
  }

  /// Those of a step are in their order.
  private mutating func add(words found: [[UInt32]]) {
    for word in found.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
      words.append(scalars.count..<scalars.count + word.count)
      scalars += word
    }
  }

  private mutating func add(_ operand: Query.Operand) {
    switch operand {
    case .now: add(.date(now))
    case .value(let value): add(value)
    }
  }

  private mutating func add(_ value: Record.Value) {
    let start = pool.count
    var zoneStart = start
    switch value {
    case .int, .double, .date, .asset, .assets: break
    case .string(let text): pool.append(utf8: text)
    case .reference(let reference):
      pool.append(utf8: reference.id.name)
      zoneStart = pool.count
      pool.append(reference.id.zone.key)
    default:
      // Without a zone of its own each reference of a list names its zone.
      var writer = ByteWriter(pool)
      ValueCoding.append(value, zoneKey: pool.view.prefix(0), into: &writer)
      writer.finish()
    }
    if value.kind != .reference { zoneStart = pool.count }
    constants.append(Constant(value: value, bytes: start..<zoneStart, zoneKey: zoneStart..<pool.count))
  }

  /// Points the steps to their keys, once nothing is added to the pool any more.
  mutating func finishSteps() {
    for index in steps.indices { steps[index].key = pool.view.slice(steps[index].keyBytes) }
  }

  /// The constants, once nothing is added to the pool any more.
  func finishedConstants() -> [ValueView] {
    constants.map { constant in
      let bytes = pool.view.slice(constant.bytes)
      switch constant.value {
      case .int(let number): return ValueView(int: number)
      case .double(let number): return ValueView(.double, double: number)
      case .date(let date): return ValueView(.date, double: date.timeIntervalSinceReferenceDate)
      case .reference: return ValueView(referenceTo: bytes, zoneKey: pool.view.slice(constant.zoneKey))
      default: return ValueView(constant.value.kind, plain: bytes)
      }
    }
  }
}
