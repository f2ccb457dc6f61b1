#if !canImport(CloudKit)
  import Daybook
  import Foundation

  /// What operations of a database fail with: CloudKit's codes, and the Daybook error that says more.
  public struct CKError: CustomNSError, LocalizedError, Sendable {
    /// The domain of the codes.
    public static let errorDomain = CKErrorDomain

    /// What happened.
    public let code: Code
    /// The Daybook error, with facts.
    public let daybookError: DatabaseError
    private let conflict: ConflictRecords?
    private let recordErrors: [CKRecord.ID: CKError]
    private let subscriptionErrors: [CKSubscription.ID: CKError]
    private let given: GivenInfo?

    /// What an error was made with. Safe to share: it never changes.
    private final class GivenInfo: @unchecked Sendable {
      let info: [String: Any]
      init(_ info: [String: Any]) { self.info = info }
    }

    /// The versions of a conflict, made once: who asks twice gets the same objects, and sees what was changed in them.
    private final class ConflictRecords: Sendable {
      let ancestor: CKRecord?
      let server: CKRecord?
      let client: CKRecord

      init(_ conflict: DatabaseError.Conflict, client: CKRecord?) {
        ancestor = conflict.ancestor.map { CKRecord($0) }
        server = conflict.server.map { CKRecord($0) }
        self.client = client ?? CKRecord(conflict.client)
      }
    }

    /// An error as tests and applications make them, with what is under CloudKit's keys.
    public init(_ code: Code, userInfo: [String: Any] = [:]) {
      self.init(
        DatabaseError(DatabaseError.Code(rawValue: code.rawValue) ?? .internalError), client: nil, records: [:],
        given: userInfo.isEmpty ? nil : GivenInfo(userInfo))
    }

    /// The same from one of Foundation's objects, which a cast does not make on Linux: `error as NSError` gives one, and tests make them. One
    /// of another domain is an `internalError`.
    public init(_nsError error: NSError) {
      let code = error.domain == CKErrorDomain ? Code(rawValue: error.code) : nil
      self.init(code ?? .internalError, userInfo: error.userInfo)
    }

    /// A Daybook error. Codes of files and storage, which CloudKit has not, become the nearest that it has.
    public init(_ error: DatabaseError) { self.init(error, client: nil) }

    /// The same for the save of a record, which is then the client's version of a conflict.
    init(_ error: DatabaseError, client: CKRecord?) {
      self.init(error, client: client, records: [:])
    }

    /// Some of several records failed.
    /// - Parameter errors: those of records that were to be saved, which know them.
    init(_ error: DatabaseError, records errors: [CKRecord.ID: CKError]) { self.init(error, client: nil, records: errors) }

    private init(
      _ error: DatabaseError, client: CKRecord?, records: [CKRecord.ID: CKError], given: GivenInfo? = nil
    ) {
      self.given = given
      daybookError = error
      conflict = error.conflict.map { ConflictRecords($0, client: client) }
      recordErrors = records
      subscriptionErrors = [:]
      code = Code(rawValue: error.code.rawValue) ?? Code(storage: error.code)
    }

    /// Some of several subscriptions failed.
    init(subscriptions errors: [CKSubscription.ID: CKError]) {
      daybookError = DatabaseError(.partialFailure)
      conflict = nil
      recordErrors = [:]
      subscriptionErrors = errors
      given = nil
      code = .partialFailure
    }

    /// Whatever was thrown.
    init(any error: any Error) {
      switch error {
      case let error as CKError: self = error
      case let error as DatabaseError: self.init(error)
      case is CancellationError: self.init(.operationCancelled)
      default: self.init(DatabaseError(.internalError, cause: error))
      }
    }

    /// The number of the code.
    public var errorCode: Int { code.rawValue }

    /// How long to wait before the same may succeed, in seconds; nil when waiting does not help.
    public var retryAfterSeconds: Double? {
      if let seconds = given?.info[CKErrorRetryAfterKey] as? NSNumber { return seconds.doubleValue }
      return daybookError.retryAfter.map { duration in
        Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
      }
    }

    /// What went wrong with each item, by `CKRecord.ID`, `CKRecordZone.ID` or name of a subscription; nil unless the code is
    /// `partialFailure`, and where nothing is known of items.
    public var partialErrorsByItemID: [AnyHashable: any Error]? {
      guard code == .partialFailure else { return nil }
      if let errors = given?.info[CKPartialErrorsByItemIDKey] { return errors as? [AnyHashable: any Error] }
      var errors: [AnyHashable: any Error] = [:]
      for (id, error) in daybookError.partialErrors {
        let id = CKRecord.ID(id)
        errors[id] = recordErrors[id] ?? CKError(error)
      }
      for (id, error) in daybookError.partialZoneErrors { errors[CKRecordZone.ID(id)] = CKError(error) }
      for (id, error) in subscriptionErrors { errors[id] = error }
      return errors.isEmpty ? nil : errors
    }

    /// The version that the changes were made on, when it is still known; of a conflict.
    public var ancestorRecord: CKRecord? { conflict?.ancestor ?? given(CKRecordChangedErrorAncestorRecordKey) }
    /// The version that is stored; of a conflict. Merge into this one and save it.
    public var serverRecord: CKRecord? { conflict?.server ?? given(CKRecordChangedErrorServerRecordKey) }
    /// What was to be saved; of a conflict.
    public var clientRecord: CKRecord? { conflict?.client ?? given(CKRecordChangedErrorClientRecordKey) }

    private func given(_ key: String) -> CKRecord? { given?.info[key] as? CKRecord }

    /// The same under the keys of CloudKit.
    public var errorUserInfo: [String: Any] {
      var info: [String: Any] = [NSLocalizedDescriptionKey: daybookError.message, NSUnderlyingErrorKey: daybookError]
      info[CKErrorRetryAfterKey] = retryAfterSeconds.map { NSNumber(value: $0) }
      info[CKPartialErrorsByItemIDKey] = partialErrorsByItemID
      info[CKRecordChangedErrorAncestorRecordKey] = ancestorRecord
      info[CKRecordChangedErrorServerRecordKey] = serverRecord
      info[CKRecordChangedErrorClientRecordKey] = clientRecord
      for (key, value) in given?.info ?? [:] { info[key] = value }
      return info
    }

    /// The same as ``errorUserInfo``.
    public var userInfo: [String: Any] { errorUserInfo }

    /// The sentence of the error.
    public var errorDescription: String? { daybookError.message }
  }

  /// The domain of errors.
  public let CKErrorDomain = "CKErrorDomain"
  /// The key of ``CKError/retryAfterSeconds``.
  public let CKErrorRetryAfterKey = "CKRetryAfter"
  /// The key of ``CKError/partialErrorsByItemID``.
  public let CKPartialErrorsByItemIDKey = "CKPartialErrors"
  /// The key of ``CKError/ancestorRecord``.
  public let CKRecordChangedErrorAncestorRecordKey = "AncestorRecord"
  /// The key of ``CKError/serverRecord``.
  public let CKRecordChangedErrorServerRecordKey = "ServerRecord"
  /// The key of ``CKError/clientRecord``.
  public let CKRecordChangedErrorClientRecordKey = "ClientRecord"
#endif
