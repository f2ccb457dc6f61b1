import DaybookEngine

package struct ProcessCounts: SearchCounts, CustomStringConvertible {
  package var runs = 0
  package var points = 0
  package var handOvers = 0
  package var moments = 0
  package var images = 0
  package var duplicates = 0
  package var thorough = 0

  package init() {}

  /// The measure of a search.
  package var total: Int { points + images }

  package var description: String {
    "\(runs) runs: \(points) points, \(handOvers) hand-overs; at \(moments) of them \(images) images of crashes, "
      + "\(duplicates) of them duplicates, \(thorough) checked to the last byte"
  }

  package static var parts: [WritableKeyPath<Self, Int>] {
    [\.runs, \.points, \.handOvers, \.moments, \.images, \.duplicates, \.thorough]
  }
}
