#if !canImport(CloudKit)
  import Daybook
  import Foundation

  /// Whether a user is signed in.
  public enum CKAccountStatus: Int, Sendable {
    /// Not known at the moment, or the container cannot be opened.
    case couldNotDetermine = 0
    /// The user is signed in.
    case available = 1
    /// A parental or management restriction denies access.
    case restricted = 2
    /// No user is signed in.
    case noAccount = 3
    /// The user is signed in, and has to do something before the account can be used.
    case temporarilyUnavailable = 4

    init(_ status: AccountStatus) {
      self =
        switch status {
        case .couldNotDetermine: .couldNotDetermine
        case .available: .available
        case .restricted: .restricted
        case .noAccount: .noAccount
        case .temporarilyUnavailable: .temporarilyUnavailable
        }
    }
  }

  extension Notification.Name {
    /// The account of an open container has changed; posted on any thread.
    public static let CKAccountChanged = Notification.Name("CKAccountChangedNotification")
  }

  /// The name before Swift 3.
  public let CKAccountChangedNotification = Notification.Name.CKAccountChanged

  extension CKContainer {
    /// Tells whether a user is signed in. Who that is, and whether, is up to the application, see
    /// `Container.setAccountStatus`.
    @preconcurrency
    public func accountStatus(completionHandler: @escaping @Sendable (CKAccountStatus, (any Error)?) -> Void) {
      run { [self] in
        do throws(DatabaseError) {
          completionHandler(CKAccountStatus(try daybookContainer().accountStatus()), nil)
        } catch { completionHandler(.couldNotDetermine, CKError(error)) }
      }
    }

    /// Whether a user is signed in.
    public func accountStatus() async throws -> CKAccountStatus {
      try await Handover.result { handover in
        accountStatus { status, error in
          if let error { handover.resume(throwing: error) } else { handover.resume(returning: status) }
        }
      }
    }

    /// The identity of the user's record: the same in all databases of this container.
    /// - Throws: `notAuthenticated` when no user is signed in.
    private func currentUserRecordID() throws(DatabaseError) -> CKRecord.ID {
      let container = try daybookContainer()
      switch container.accountStatus() {
      case .available, .couldNotDetermine: break
      case .noAccount: throw DatabaseError(.notAuthenticated)
      case .restricted: throw DatabaseError(.managedAccountRestricted)
      case .temporarilyUnavailable: throw DatabaseError(.accountTemporarilyUnavailable)
      }
      return CKRecord.ID(recordName: container.userRecordName)
    }

    /// Gets the identity of the user's record: the same in all databases of this container, another one in each container.
    @preconcurrency
    public func fetchUserRecordID(completionHandler: @escaping @Sendable (CKRecord.ID?, (any Error)?) -> Void) {
      run { [self] in
        do throws(DatabaseError) { completionHandler(try currentUserRecordID(), nil) } catch {
          completionHandler(nil, CKError(error))
        }
      }
    }

    /// The identity of the user's record.
    public func userRecordID() async throws -> CKRecord.ID {
      try await Handover.result { handover in
        fetchUserRecordID { id, error in
          if let id {
            handover.resume(returning: id)
          } else {
            handover.resume(throwing: error ?? CKError(.internalError))
          }
        }
      }
    }
  }
#endif
