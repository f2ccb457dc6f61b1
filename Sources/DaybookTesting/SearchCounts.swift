/// What a search has examined: numbers that can be added up, and written as one line when a long run is interrupted.
package protocol SearchCounts: Sendable {
  init()
  /// All of them, in the order of the line.
  static var parts: [WritableKeyPath<Self, Int>] { get }
}

extension SearchCounts {
  package var numbers: [Int] { Self.parts.map { self[keyPath: $0] } }

  /// Nil when there are more or fewer numbers than parts.
  package init?(numbers: some Collection<Int>) {
    guard numbers.count == Self.parts.count else { return nil }
    self.init()
    for (part, number) in zip(Self.parts, numbers) { self[keyPath: part] = number }
  }

  package static func += (left: inout Self, right: Self) { for part in parts { left[keyPath: part] += right[keyPath: part] } }
}
