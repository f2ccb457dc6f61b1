import DaybookEngine

package struct CrashCounts: SearchCounts, CustomStringConvertible {
  package var runs = 0
  package var crashPoints = 0
  package var images = 0
  package var duplicates = 0
  package var nestedImages = 0
  package var nestedDuplicates = 0
  package var thorough = 0

  package init() {}

  package var crashes: Int { images + nestedImages }

  package var description: String {
    "\(crashes) crashes at \(crashPoints) points of \(runs) runs: \(images) images, \(duplicates) of them duplicates; "
      + "\(nestedImages) images of crashed recoveries, \(nestedDuplicates) of them duplicates; \(thorough) checked to the last byte"
  }

  package static var parts: [WritableKeyPath<Self, Int>] {
    [\.runs, \.crashPoints, \.images, \.duplicates, \.nestedImages, \.nestedDuplicates, \.thorough]
  }
}
