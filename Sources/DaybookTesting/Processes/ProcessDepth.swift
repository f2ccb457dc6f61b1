import DaybookEngine

/// How closely to examine the crashes of a run.
struct ProcessDepth: Sendable {
  /// One call in so many that change the disk; none for 0.
  var momentsOneIn = 6
  var crashesPerMoment = 3
  var thoroughEvery: UInt64 = 10
}
