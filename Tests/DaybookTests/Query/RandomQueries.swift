import DaybookTesting
import Foundation

@testable import Daybook

/// Records and predicates that a seed decides, of few keys and few values, so that they meet.
struct RandomQueries {
  var generator: SeededGenerator

  init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

  static let keys = ["a", "b", "c", "title", "in", "allTokens", "self", "k_9"]
  static let texts = [
    "", "a", "A", "Été", "ete", "E\u{301}te\u{301}", "straße", "STRASSE", "The Dune", "dune of the sea", "don't",
    "DON\u{2019}T", "a*b?",
    "ﬁsh", "fish", "東京", "한국", "\u{1112}\u{1161}\u{11AB}국", "İstanbul", "x\\y", "it's \"so\"\n", "😀", "\u{202E}rtl", "aaab",
    "ab",
  ]

  mutating func number(_ count: Int) -> Int { Int(generator.next() % UInt64(count)) }
  mutating func chance(_ one: Int) -> Bool { number(one) == 0 }
  mutating func pick<T>(_ list: [T]) -> T { list[number(list.count)] }
  mutating func text() -> String { pick(Self.texts) }

  mutating func zone() -> Zone.ID {
    chance(2) ? .default : (try? Zone.ID(pick(["Library", "Été"]), owner: chance(2) ? "_x" : nil)) ?? .default
  }

  mutating func place() -> Location {
    var place = Location(latitude: Double(number(5) * 40 - 80), longitude: Double(number(5) * 90 - 180))
    if chance(3) { place.altitude = Double(number(2)) }
    if chance(5) { place.timestamp = Date(timeIntervalSinceReferenceDate: Double(number(3))) }
    return place
  }

  mutating func double() -> Double {
    pick([
      0, 1, 1.5, -2, 9_007_199_254_740_992, 1e300, -.infinity, .infinity, .leastNonzeroMagnitude, 0.1,
      -9_223_372_036_854_775_808,
    ])
  }

  mutating func int() -> Int64 { pick([0, 1, -2, 2, 9_007_199_254_740_993, .max, .min, 42]) }

  mutating func date() -> Date { Date(timeIntervalSinceReferenceDate: pick([0, 1, 2.5, -1e6, 7e8])) }

  mutating func reference(in zone: Zone.ID?) -> Record.Reference {
    Record.Reference(
      Record.ID(unchecked: pick(["a", "b", "_c"]), in: zone ?? self.zone()), action: pick([.none, .deleteSelf, .none]))
  }

  /// A value of any kind but assets. References of a record are in its zone.
  mutating func value(zone: Zone.ID? = nil) -> Record.Value {
    func list<T>(_ element: (inout Self) -> T, _ me: inout Self) -> [T] { (0..<me.number(4)).map { _ in element(&me) } }
    switch number(16) {
    case 0...3: return .string(text())
    case 4, 5: return .int(int())
    case 6: return .double(double())
    case 7: return .bytes(Data(text().utf8))
    case 8: return .date(date())
    case 9: return .location(place())
    case 10: return .reference(reference(in: zone))
    case 11: return .strings(list({ $0.text() }, &self))
    case 12: return .ints(list({ $0.int() }, &self))
    case 13: return .doubles(list({ $0.double() }, &self))
    case 14: return chance(2) ? .dates(list({ $0.date() }, &self)) : .bytesList(list({ Data($0.text().utf8) }, &self))
    default: return chance(2) ? .locations(list({ $0.place() }, &self)) : .references(list({ $0.reference(in: zone) }, &self))
    }
  }

  /// A record as it is read from a database.
  mutating func record(_ name: String = "n") throws -> Record {
    let zone = zone()
    var values: [String: Record.Value] = [:]
    for key in Self.keys where !chance(3) { values[key] = value(zone: zone) }
    var encrypted: [String: Record.Value] = [:]
    if chance(3) { encrypted["secret"] = .string(text()) }
    let id = Record.ID(unchecked: chance(3) ? text().isEmpty ? "a" : "b" : name, in: zone)
    return try Record(
      type: pick(["Movie", "Song"]), id: id,
      metadata: .init(
        changeTag: pick(["t1", "t2"]), creationDate: date(), creatorUserID: chance(2) ? "_c" : nil, modificationDate: date(),
        lastModifiedUserID: chance(2) ? "_c" : nil, modifiedByDevice: chance(2) ? "phone" : nil),
      values: values, encryptedValues: encrypted,
      parent: chance(2) ? Record.Reference(Record.ID(unchecked: "a", in: zone)) : nil)
  }

  mutating func field() -> Query.Field {
    let field: Query.Field =
      chance(6)
      ? Query.Field(pick(Query.SystemField.allCases.filter { $0 != .text }))
      : Query.Field(key: chance(12) ? "secret" : pick(Self.keys))
    return chance(4) ? field.any : field
  }

  mutating func options() -> Query.TextOptions { chance(2) ? [] : Query.TextOptions(rawValue: UInt8(number(4))) }

  mutating func operand() -> Query.Operand { chance(10) ? .now : .value(value()) }

  mutating func condition() -> Query.Predicate {
    switch number(12) {
    case 0, 1: return Query.Predicate(Query.Condition(field(), .compare(pick([.equal, .notEqual]), operand()), options()))
    case 2, 3:
      return Query.Predicate(
        Query.Condition(field(), .compare(pick([.less, .lessOrEqual, .greater, .greaterOrEqual]), operand())))
    case 4: return Query.Predicate(Query.Condition(field(), .between(operand(), operand())))
    case 5:
      let count = chance(3) ? 12 : number(4)
      return Query.Predicate(Query.Condition(field(), .isIn((0..<count).map { _ in value() }), options()))
    case 6: return Query.Predicate(Query.Condition(field(), .contains(value()), options()))
    case 7, 8:
      let pattern = chance(2) ? pick(["*", "a*", "*t?", "?", "a\\*b\\?", "*a*b", "", "*s*s*", "aa*ab", "*é*"]) : text()
      let test = Query.Condition.Test.text(pick([.prefix, .suffix, .pattern]), ByteText(pattern))
      return Query.Predicate(Query.Condition(field(), test, options()))
    case 9: return chance(2) ? .tokens(text()) : field().tokens(text())
    case 10:
      return Query.Predicate(
        Query.Condition(
          field(),
          .distance(
            pick([.less, .lessOrEqual, .greater, .greaterOrEqual]), from: place(), kilometres: pick([0, 500, 9000, 20100]))))
    default: return field().isAbsent
    }
  }

  mutating func predicate(depth: Int = 3) -> Query.Predicate {
    guard depth > 0, !chance(3) else { return chance(15) ? pick([.true, .false]) : condition() }
    switch number(3) {
    case 0: return .all((0..<number(4)).map { _ in predicate(depth: depth - 1) })
    case 1: return .any((0..<number(4)).map { _ in predicate(depth: depth - 1) })
    default: return !predicate(depth: depth - 1)
    }
  }
}
