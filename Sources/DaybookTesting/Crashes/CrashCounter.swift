/// What the searches for crashes of one process count.
package enum CrashCounter: Int, SearchCounter {
  case runs, crashPoints, images, duplicates, nestedImages, nestedDuplicates, thorough

  package static func total(of counts: SearchCounts<Self>) -> Int { counts[.images] + counts[.nestedImages] }

  package static func sentence(about counts: SearchCounts<Self>) -> String {
    "\(counts.total) crashes at \(counts[.crashPoints]) points of \(counts[.runs]) runs: \(counts[.images]) images, "
      + "\(counts[.duplicates]) of them duplicates; \(counts[.nestedImages]) images of crashed recoveries, "
      + "\(counts[.nestedDuplicates]) of them duplicates; \(counts[.thorough]) checked to the last byte"
  }
}
