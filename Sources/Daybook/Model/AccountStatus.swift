/// Whether there is an account to write with.
public enum AccountStatus: String, Hashable, Codable, Sendable, CaseIterable {
  /// Nobody can tell at the moment.
  case couldNotDetermine
  /// The user is signed in.
  case available
  /// Somebody else's rules forbid the account to this application.
  case restricted
  /// Nobody is signed in.
  case noAccount
  /// The user is signed in, and has to do something before the account can be used.
  case temporarilyUnavailable
}
