/// The stable numbers of errors and the sentence of each. The two lists below are the whole vocabulary: an error that
/// needs another sentence brings it along, an error that needs another number gets it here, at the end of its range.

extension DatabaseError {
  /// What can go wrong. Numbers 1 to 37 are CloudKit's; Daybook's own, about files, start at 1000.
  ///
  /// The numbers are part of the interface: they never change, and new ones may be added.
  public enum Code: Int, Sendable, Hashable, CaseIterable {
    /// Something inside the database went wrong.
    case internalError = 1
    /// Some of the items failed; each has its own error.
    case partialFailure = 2
    /// The network is not available.
    case networkUnavailable = 3
    /// The network was available, but the request failed.
    case networkFailure = 4
    /// The container is unknown or not authorised.
    case badContainer = 5
    /// The service is not available.
    case serviceUnavailable = 6
    /// Too many requests were sent; wait before the next.
    case requestRateLimited = 7
    /// The application lacks an entitlement.
    case missingEntitlement = 8
    /// Nobody is signed in.
    case notAuthenticated = 9
    /// This user may not do that.
    case permissionFailure = 10
    /// There is no such record.
    case unknownItem = 11
    /// The request cannot be carried out as it stands.
    case invalidArguments = 12
    /// The results were cut short.
    case resultsTruncated = 13
    /// The record was changed by someone else since it was read.
    case serverRecordChanged = 14
    /// The server rejected the request.
    case serverRejectedRequest = 15
    /// The file of the asset is missing.
    case assetFileNotFound = 16
    /// The file of the asset changed after the asset was made.
    case assetFileModified = 17
    /// This version of the application is too old for the server.
    case incompatibleVersion = 18
    /// The server refused a value that must be unique.
    case constraintViolation = 19
    /// The operation was cancelled.
    case operationCancelled = 20
    /// The change token is too old; fetch again from the beginning.
    case changeTokenExpired = 21
    /// Another item of the same atomic batch failed.
    case batchRequestFailed = 22
    /// The zone is busy; wait before trying again.
    case zoneBusy = 23
    /// This database cannot do that.
    case badDatabase = 24
    /// The quota of the user is used up.
    case quotaExceeded = 25
    /// There is no such zone.
    case zoneNotFound = 26
    /// The request or a record is larger than the limit.
    case limitExceeded = 27
    /// The user deleted the zone.
    case userDeletedZone = 28
    /// The share has too many participants.
    case tooManyParticipants = 29
    /// The record is shared already.
    case alreadyShared = 30
    /// A reference points to a record that does not exist, or a record is still referred to.
    case referenceViolation = 31
    /// The account is restricted.
    case managedAccountRestricted = 32
    /// The participant has to be verified.
    case participantMayNeedVerification = 33
    /// The answer of the server was lost; the outcome is unknown.
    case serverResponseLost = 34
    /// The content of the asset is not available.
    case assetNotAvailable = 35
    /// The account is not available for the moment.
    case accountTemporarilyUnavailable = 36
    /// The participant was invited already.
    case participantAlreadyInvited = 37

    /// The file is damaged.
    case corrupted = 1000
    /// Reading or writing the file failed.
    case ioFailed = 1001
    /// A write failed in a way that leaves its outcome unknown; open the database again.
    case outcomeUnknown = 1002
    /// Another process or thread holds the database.
    case locked = 1003
    /// The disk is full.
    case diskFull = 1004
    /// The database was opened for reading only.
    case readOnly = 1005
    /// The database is closed.
    case closed = 1006
    /// The file is not a Daybook database.
    case notADatabase = 1007
    /// The file was written by a newer version of Daybook.
    case formatTooNew = 1008
    /// The snapshot ended: it held back too much memory, or its file was reopened.
    case snapshotTooOld = 1009
    /// The change token belongs to a copy of this database that has a history of its own.
    case changeTokenForked = 1010
    /// The value is too large to be stored.
    case valueTooLarge = 1011
  }
}

extension DatabaseError.Code {
  /// The sentence of the code, for errors that have none of their own.
  var sentence: String {
    switch self {
    case .internalError: "Something inside the database went wrong."
    case .partialFailure: "Some of the items failed; each has its own error."
    case .networkUnavailable: "The network is not available."
    case .networkFailure: "The network was available, but the request failed."
    case .badContainer: "The container is unknown or not authorised."
    case .serviceUnavailable: "The service is not available."
    case .requestRateLimited: "Too many requests were sent; wait before the next."
    case .missingEntitlement: "The application lacks an entitlement."
    case .notAuthenticated: "Nobody is signed in."
    case .permissionFailure: "This user may not do that."
    case .unknownItem: "There is no such record."
    case .invalidArguments: "The request is not valid."
    case .resultsTruncated: "The results were cut short."
    case .serverRecordChanged: "The record was changed by someone else since it was read."
    case .serverRejectedRequest: "The server rejected the request."
    case .assetFileNotFound: "The file of the asset is missing."
    case .assetFileModified: "The file of the asset changed after the asset was made."
    case .incompatibleVersion: "This version of the application is too old for the server."
    case .constraintViolation: "The server refused a value that must be unique."
    case .operationCancelled: "The operation was cancelled."
    case .changeTokenExpired: "The change token is too old; fetch again from the beginning."
    case .batchRequestFailed: "Another item of the same atomic batch failed."
    case .zoneBusy: "The zone is busy; wait before trying again."
    case .badDatabase: "This database cannot do that."
    case .quotaExceeded: "The quota of the user is used up."
    case .zoneNotFound: "There is no such zone; `save(Zone(id))` makes it."
    case .limitExceeded: "The request or a record is larger than the limit."
    case .userDeletedZone: "The user deleted the zone."
    case .tooManyParticipants: "The share has too many participants."
    case .alreadyShared: "The record is shared already."
    case .referenceViolation: "A reference points to a record that does not exist, or a record is still referred to."
    case .managedAccountRestricted: "The account is restricted."
    case .participantMayNeedVerification: "The participant has to be verified."
    case .serverResponseLost: "The answer of the server was lost; the outcome is unknown."
    case .assetNotAvailable: "The content of the asset is not available."
    case .accountTemporarilyUnavailable: "The account is not available for the moment."
    case .participantAlreadyInvited: "The participant was invited already."
    case .corrupted: "The file is damaged."
    case .ioFailed: "Reading or writing the file failed."
    case .outcomeUnknown: "A write failed in a way that leaves its outcome unknown; open the database again."
    case .locked: "Another process or thread holds the database."
    case .diskFull: "The disk is full."
    case .readOnly: "The database was opened for reading only."
    case .closed: "The database is closed."
    case .notADatabase: "The file is not a Daybook database."
    case .formatTooNew: "The file was written by a newer version of Daybook."
    case .snapshotTooOld: "The snapshot ended: it held back too much memory, or its file was reopened."
    case .changeTokenForked: "The change token belongs to a copy of this database that has a history of its own."
    case .valueTooLarge: "The value is too large to be stored."
    }
  }
}

extension DatabaseError.Code {
  /// Whether the same call may succeed later without any change by the caller.
  public var isTransient: Bool {
    switch self {
    case .networkUnavailable, .networkFailure, .serviceUnavailable, .requestRateLimited, .zoneBusy,
      .accountTemporarilyUnavailable, .locked:
      true
    default: false
    }
  }
}
