/// How strictly a database answers as CloudKit does.
///
/// Where the two differ the documentation of the call says so; what is written here holds for references and schema.
public enum Dialect: String, Hashable, Codable, Sendable, CaseIterable {
  /// As CloudKit: its limits, its refusals, with its sentences.
  ///
  /// At most 750 records may have a `deleteSelf` reference to one target. Records that refer to each other in a circle are not
  /// saved in one request. A field has the kind that it was first saved with. The default zone has no feed.
  case cloudKit
  /// What a local database can do better: no limit of owners, circles in one request, several kinds in one field, a feed
  /// of the default zone too.
  case extended
}
