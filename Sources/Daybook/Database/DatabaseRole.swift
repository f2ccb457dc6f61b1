/// What a database of a container knows of it. A database that was opened by itself has none.
package protocol DatabaseRole: AnyObject, Sendable {
  var scope: DatabaseScope { get }
  var userRecordName: String { get }
  var status: AccountStatus { get }

  /// The file of this role's database is closed.
  func databaseIsClosed()

  /// Throws when there is no account to write with.
  func requireAccount() throws(DatabaseError)
}
