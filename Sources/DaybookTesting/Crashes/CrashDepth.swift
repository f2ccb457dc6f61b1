import DaybookEngine

/// How thorough the search is.
package struct CrashDepth: Sendable {
  /// With up to so many pending units every subset is tried, otherwise random ones.
  package var everySubsetUnitCount = 12
  package var randomSubsetCount = 4096
  /// The same within a recovery.
  package var nestedUnitCount = 3
  package var nestedRandomCount = 8
  package var nesting = 3
  /// Recovery is interrupted for one image in so many, and one in so many is checked completely and written to.
  package var nestedEvery = 1
  package var thoroughEvery = 16

  package init() {}
}
