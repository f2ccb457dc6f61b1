#if !canImport(CloudKit)
  import Daybook
  import Foundation

  extension CKError {
    /// What can go wrong; the numbers are CloudKit's.
    public enum Code: Int, Sendable, Hashable, CaseIterable {
      /// Something inside the database went wrong.
      case internalError = 1
      /// Some of the items failed; each has its own error.
      case partialFailure
      /// The network is not available.
      case networkUnavailable
      /// The network was available, but the request failed.
      case networkFailure
      /// The container is unknown or not authorised.
      case badContainer
      /// The service is not available.
      case serviceUnavailable
      /// Too many requests were sent; wait before the next.
      case requestRateLimited
      /// The application lacks an entitlement.
      case missingEntitlement
      /// No user is signed in.
      case notAuthenticated
      /// This user may not do that.
      case permissionFailure
      /// There is no such record.
      case unknownItem
      /// The request cannot be carried out as it is.
      case invalidArguments
      /// The results were cut short.
      case resultsTruncated
      /// The record was changed by someone else since it was read.
      case serverRecordChanged
      /// The server rejected the request.
      case serverRejectedRequest
      /// The file of the asset is missing.
      case assetFileNotFound
      /// The file of the asset changed after the asset was made.
      case assetFileModified
      /// This version of the application is too old for the server.
      case incompatibleVersion
      /// The server refused a value that must be unique.
      case constraintViolation
      /// The operation was cancelled.
      case operationCancelled
      /// The change token is too old; fetch again from the beginning.
      case changeTokenExpired
      /// Another item of the same atomic batch failed.
      case batchRequestFailed
      /// The zone is busy; wait before trying again.
      case zoneBusy
      /// This database cannot do that.
      case badDatabase
      /// The quota of the user is used up.
      case quotaExceeded
      /// There is no such zone.
      case zoneNotFound
      /// The request or a record is larger than the limit.
      case limitExceeded
      /// The user deleted the zone.
      case userDeletedZone
      /// The share has too many participants.
      case tooManyParticipants
      /// The record is shared already.
      case alreadyShared
      /// A reference points to a record that does not exist, or a record is still referred to.
      case referenceViolation
      /// The account is restricted.
      case managedAccountRestricted
      /// The participant has to be verified.
      case participantMayNeedVerification
      /// The answer of the server was lost; the outcome is unknown.
      case serverResponseLost
      /// The content of the asset is not available.
      case assetNotAvailable
      /// The account is not available for the moment.
      case accountTemporarilyUnavailable
      /// The participant was invited already.
      case participantAlreadyInvited

      /// The nearest code of CloudKit to one of storage.
      init(storage code: DatabaseError.Code) {
        self =
          switch code {
          case .locked: .zoneBusy
          case .diskFull: .quotaExceeded
          case .readOnly: .permissionFailure
          case .closed: .serviceUnavailable
          case .outcomeUnknown: .serverResponseLost
          case .notADatabase: .badContainer
          case .formatTooNew: .incompatibleVersion
          case .snapshotTooOld, .changeTokenForked: .changeTokenExpired
          case .valueTooLarge: .limitExceeded
          default: .internalError
          }
      }

      /// Matches errors of this code: `catch CKError.serverRecordChanged`.
      public static func ~= (code: Code, error: any Error) -> Bool { (error as? CKError)?.code == code }
    }
    /// Something inside the database went wrong.
    public static var internalError: Code { .internalError }
    /// Some of the items failed; each has its own error.
    public static var partialFailure: Code { .partialFailure }
    /// The network is not available.
    public static var networkUnavailable: Code { .networkUnavailable }
    /// The network was available, but the request failed.
    public static var networkFailure: Code { .networkFailure }
    /// The container is unknown or not authorised.
    public static var badContainer: Code { .badContainer }
    /// The service is not available.
    public static var serviceUnavailable: Code { .serviceUnavailable }
    /// Too many requests were sent; wait before the next.
    public static var requestRateLimited: Code { .requestRateLimited }
    /// The application lacks an entitlement.
    public static var missingEntitlement: Code { .missingEntitlement }
    /// No user is signed in.
    public static var notAuthenticated: Code { .notAuthenticated }
    /// This user may not do that.
    public static var permissionFailure: Code { .permissionFailure }
    /// There is no such record.
    public static var unknownItem: Code { .unknownItem }
    /// The request cannot be carried out as it is.
    public static var invalidArguments: Code { .invalidArguments }
    /// The results were cut short.
    public static var resultsTruncated: Code { .resultsTruncated }
    /// The record was changed by someone else since it was read.
    public static var serverRecordChanged: Code { .serverRecordChanged }
    /// The server rejected the request.
    public static var serverRejectedRequest: Code { .serverRejectedRequest }
    /// The file of the asset is missing.
    public static var assetFileNotFound: Code { .assetFileNotFound }
    /// The file of the asset changed after the asset was made.
    public static var assetFileModified: Code { .assetFileModified }
    /// This version of the application is too old for the server.
    public static var incompatibleVersion: Code { .incompatibleVersion }
    /// The server refused a value that must be unique.
    public static var constraintViolation: Code { .constraintViolation }
    /// The operation was cancelled.
    public static var operationCancelled: Code { .operationCancelled }
    /// The change token is too old; fetch again from the beginning.
    public static var changeTokenExpired: Code { .changeTokenExpired }
    /// Another item of the same atomic batch failed.
    public static var batchRequestFailed: Code { .batchRequestFailed }
    /// The zone is busy; wait before trying again.
    public static var zoneBusy: Code { .zoneBusy }
    /// This database cannot do that.
    public static var badDatabase: Code { .badDatabase }
    /// The quota of the user is used up.
    public static var quotaExceeded: Code { .quotaExceeded }
    /// There is no such zone.
    public static var zoneNotFound: Code { .zoneNotFound }
    /// The request or a record is larger than the limit.
    public static var limitExceeded: Code { .limitExceeded }
    /// The user deleted the zone.
    public static var userDeletedZone: Code { .userDeletedZone }
    /// The share has too many participants.
    public static var tooManyParticipants: Code { .tooManyParticipants }
    /// The record is shared already.
    public static var alreadyShared: Code { .alreadyShared }
    /// A reference points to a record that does not exist, or a record is still referred to.
    public static var referenceViolation: Code { .referenceViolation }
    /// The account is restricted.
    public static var managedAccountRestricted: Code { .managedAccountRestricted }
    /// The participant has to be verified.
    public static var participantMayNeedVerification: Code { .participantMayNeedVerification }
    /// The answer of the server was lost; the outcome is unknown.
    public static var serverResponseLost: Code { .serverResponseLost }
    /// The content of the asset is not available.
    public static var assetNotAvailable: Code { .assetNotAvailable }
    /// The account is not available for the moment.
    public static var accountTemporarilyUnavailable: Code { .accountTemporarilyUnavailable }
    /// The participant was invited already.
    public static var participantAlreadyInvited: Code { .participantAlreadyInvited }
  }
#endif
