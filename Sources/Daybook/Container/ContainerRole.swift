/// What a database of a container knows of it: its scope, the user, whether there is an account. Shared by the three.
package final class ContainerRole: DatabaseRole {
  package let scope: DatabaseScope
  /// A database keeps its container: the next open of it finds this one.
  private let container: OpenContainer
  /// Which opening of the scope this is.
  private let number: Int

  init(_ scope: DatabaseScope, _ number: Int, of container: OpenContainer) {
    self.scope = scope
    self.number = number
    self.container = container
  }

  package var userRecordName: String { container.userRecordName }
  package var status: AccountStatus { container.account.status }

  /// The file of this role's database is closed.
  package func databaseIsClosed() { container.databaseIsClosed(scope, number) }

  /// Throws when there is no account to write with.
  package func requireAccount() throws(DatabaseError) {
    switch status {
    case .available: return
    case .noAccount: throw DatabaseError(.notAuthenticated)
    case .restricted: throw DatabaseError(.managedAccountRestricted)
    case .couldNotDetermine, .temporarilyUnavailable: throw DatabaseError(.accountTemporarilyUnavailable)
    }
  }
}
