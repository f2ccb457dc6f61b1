/// What the searches with several processes or threads count.
package enum ProcessCounter: Int, SearchCounter {
  case runs, points, handOvers, moments, images, duplicates, thorough

  package static func total(of counts: SearchCounts<Self>) -> Int { counts[.points] + counts[.images] }

  package static func sentence(about counts: SearchCounts<Self>) -> String {
    "\(counts[.runs]) runs: \(counts[.points]) points, \(counts[.handOvers]) hand-overs; at \(counts[.moments]) of them "
      + "\(counts[.images]) images of crashes, \(counts[.duplicates]) of them duplicates, "
      + "\(counts[.thorough]) checked to the last byte"
  }
}
