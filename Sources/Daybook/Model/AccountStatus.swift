/// Whether there is an account to write with.
public enum AccountStatus: String, Hashable, Codable, Sendable, CaseIterable {
  /// Not known at the moment.
  case couldNotDetermine
  /// The user is signed in.
  case available
  /// A parental or management restriction denies access.
  case restricted
  /// No user is signed in.
  case noAccount
  /// The user is signed in, and has to do something before the account can be used.
  case temporarilyUnavailable
}
