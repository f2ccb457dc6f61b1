/// What a search has examined: numbers that can be added up, and written as one line when a long run is interrupted.
///
/// `Counter` names them, in the order of that line.
package struct SearchCounts<Counter: SearchCounter>: Sendable, CustomStringConvertible {
  package private(set) var numbers: [Int]

  package init() { numbers = Counter.allCases.map { _ in 0 } }

  /// Nil when there are more or fewer numbers than counters.
  package init?(numbers: some Collection<Int>) {
    guard numbers.count == Counter.allCases.count else { return nil }
    self.numbers = Array(numbers)
  }

  package subscript(counter: Counter) -> Int {
    get { numbers[counter.rawValue] }
    set { numbers[counter.rawValue] = newValue }
  }

  package static func += (left: inout Self, right: Self) {
    for counter in Counter.allCases { left[counter] += right[counter] }
  }

  /// How much has been looked at.
  package var total: Int { Counter.total(of: self) }
  package var description: String { Counter.sentence(about: self) }
}

/// What one kind of search counts, numbered from 0.
package protocol SearchCounter: CaseIterable, RawRepresentable<Int>, Sendable {
  /// How much has been looked at: what a search is given a target for.
  static func total(of counts: SearchCounts<Self>) -> Int
  /// All of them in words.
  static func sentence(about counts: SearchCounts<Self>) -> String
}
