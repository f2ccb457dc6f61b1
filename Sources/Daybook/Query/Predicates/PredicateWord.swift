/// The words of a predicate's text that are none of its keys. Letters' case makes no difference.
enum PredicateWord: String, CaseIterable {
  case and, or, not
  case between, `in`, contains, beginswith, endswith, like, matches, tokenmatches
  case any, some, all, none
  case truepredicate, falsepredicate
  case null, `nil`, yes, no, `true`, `false`
  case `self`, cast
  // NSPredicate has these, so no key of a text is spelled like them without a `#`.
  case first, last, size, anykey, fetch, function, subquery, ternary, union, intersect, minus

  private static let longest = allCases.map { $0.rawValue.utf8.count }.max() ?? 0

  /// The word that is spelled so; nil when it is none.
  init?(spelling: String) {
    guard spelling.utf8.count <= Self.longest else { return nil }
    self.init(rawValue: spelling.lowercased())
  }

  static func isReserved(_ key: String) -> Bool { PredicateWord(spelling: key) != nil }
}
