#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// How values follow one another and which are equal, said of values in memory: what every other way of finding it is
/// held to.
///
/// No record has a NaN, but a constant of a predicate may be one before a database refuses it. The order of sorts is total, so there
/// NaN is after all other numbers; in a condition it is ordered with nothing and equal to nothing.
enum ValueOrder {
  /// The ranks of the kinds: numbers, dates, texts, bytes, places, references, lists. Assets have none.
  @inline(__always)
  static func rank(_ kind: FieldKind) -> Int? {
    switch kind {
    case .int, .double: 0
    case .date: 1
    case .string: 2
    case .bytes: 3
    case .location: 4
    case .reference: 5
    case .strings, .ints, .doubles, .bytesList, .dates, .locations, .references: 6
    case .asset, .assets: nil
    }
  }

  /// Below zero when the first comes first, in the order of sorts. Assets are equal to each other there, and come last.
  static func compare(_ first: Record.Value, _ second: Record.Value) -> Int {
    let ranks = (rank(first.kind) ?? 7, rank(second.kind) ?? 7)
    if ranks.0 != ranks.1 { return ranks.0 < ranks.1 ? -1 : 1 }
    switch (first, second) {
    case (.int(let a), .int(let b)): return order(a, b)
    case (.double(let a), .double(let b)): return order(a, b)
    case (.int(let a), .double(let b)): return order(a, b)
    case (.double(let a), .int(let b)): return -order(b, a)
    case (.date(let a), .date(let b)): return order(a.timeIntervalSinceReferenceDate, b.timeIntervalSinceReferenceDate)
    case (.string(let a), .string(let b)): return UTF8Order.compare(a, b).signum()
    case (.bytes(let a), .bytes(let b)):
      if a == b { return 0 }
      return a.lexicographicallyPrecedes(b) ? -1 : 1
    case (.location(let a), .location(let b)): return order(a, b)
    case (.reference(let a), .reference(let b)):
      // By the keys of zones, in which this user's come first.
      let zones = a.id.zone.withKey { a in b.id.zone.withKey { b in UTF8Order.compare(a, b).signum() } }
      return zones != 0 ? zones : UTF8Order.compare(a.id.name, b.id.name).signum()
    default:
      guard let a = first.elements, let b = second.elements, ranks.0 == 6 else { return 0 }
      for (x, y) in zip(a, b) {
        let order = compare(x, y)
        if order != 0 { return order }
      }
      return order(a.count, b.count)
    }
  }

  /// Whether a field's value equals a constant: texts with options, references by what they point to.
  static func equal(_ value: Record.Value, _ constant: Record.Value, _ options: Query.TextOptions) -> Bool {
    switch (value, constant) {
    case (.string(let a), .string(let b)):
      return options.isEmpty ? UTF8Order.equal(a, b) : Folding.scalars(a, options) == Folding.scalars(b, options)
    case (.reference(let a), .reference(let b)): return a.id == b.id
    case (.asset, _), (.assets, _): return false
    default:
      guard let a = value.elements, let b = constant.elements else { return value == constant && !isUnordered(value) }
      return isSameList(value.kind, constant.kind) && a.count == b.count
        && zip(a, b).allSatisfy { equal($0, $1, options) }
    }
  }

  /// An empty list has the kind of its elements, too; lists of integers and of doubles are one.
  private static func isSameList(_ first: FieldKind, _ second: FieldKind) -> Bool {
    func plain(_ kind: FieldKind) -> FieldKind { kind == .ints ? .doubles : kind }
    return plain(first) == plain(second)
  }

  /// Whether two values can follow one another in a comparison with `<`: numbers, dates, texts, bytes, of one kind.
  static func areOrdered(_ first: FieldKind, _ second: FieldKind) -> Bool {
    guard let rank = rank(first), rank == self.rank(second) else { return false }
    return rank <= 3
  }

  /// Whether a value is a NaN or has one: then no comparison with it passes but "not equal".
  static func isUnordered(_ value: Record.Value) -> Bool {
    switch value {
    case .double(let number): number.isNaN
    case .date(let date): date.timeIntervalSinceReferenceDate.isNaN
    case .location(let place): isUnordered(place)
    default: false
    }
  }

  static func isUnordered(_ place: Location) -> Bool { parts(place).contains { $0.isNaN } }

  /// Whether a distance passes. A place that has no distance is nowhere, and passes as little as an absent one.
  static func accepts(_ distance: Double, _ comparison: Query.Comparison, _ limit: Double) -> Bool {
    if distance.isNaN { return false }
    return limit.isNaN ? comparison == .notEqual : comparison.accepts(order(distance, limit))
  }

  static func order<T: BinaryInteger>(_ first: T, _ second: T) -> Int { first < second ? -1 : first > second ? 1 : 0 }

  static func order(_ first: Double, _ second: Double) -> Int {
    if first < second { return -1 }
    if first > second { return 1 }
    if first == second { return 0 }
    return order(first.isNaN ? 1 : 0, second.isNaN ? 1 : 0)
  }

  /// By the exact value: 2^53 + 1 comes after the double 2^53.
  static func order(_ first: Int64, _ second: Double) -> Int {
    if second.isNaN { return -1 }
    // Beyond all integers, infinities among them. 2^63 is a double, and no integer.
    if second >= 9_223_372_036_854_775_808 { return -1 }
    if second < -9_223_372_036_854_775_808 { return 1 }
    let whole = second.rounded(.down)
    let number = Int64(whole)
    if first != number { return first < number ? -1 : 1 }
    return second > whole ? -1 : 0
  }

  /// By latitude, longitude, and then the other parts, of which an absent one comes first.
  static func order(_ first: Location, _ second: Location) -> Int {
    for (a, b) in zip(parts(first), parts(second)) {
      let order = order(a, b)
      if order != 0 { return order }
    }
    return 0
  }

  private static func parts(_ place: Location) -> [Double] {
    let optionals = [
      place.altitude, place.horizontalAccuracy, place.verticalAccuracy, place.course, place.speed,
      place.timestamp?.timeIntervalSinceReferenceDate,
    ]
    return [place.latitude, place.longitude] + optionals.flatMap { [$0 == nil ? 0.0 : 1.0, $0 ?? 0] }
  }
}
