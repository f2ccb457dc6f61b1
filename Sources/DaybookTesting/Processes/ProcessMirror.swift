import Daybook

/// What an application keeps of a database with the tokens of its feeds, over restarts of its process.
struct ProcessMirror {
  /// The records of a zone, by name, with their numbers.
  struct MirroredZone {
    var token: ChangeToken?
    var records: [String: Int64] = [:]
    /// The commit that it is of.
    var commit = 0
  }

  var zones: [String: MirroredZone] = [:]
  var token: ChangeToken?
  /// The commit of the token.
  var commit = 0
}
