#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What applications show to people: the sentence of the error with its facts, and what helps.
extension DatabaseError: LocalizedError {
  /// The sentence with the facts beside it, such as the path and the name. What `localizedDescription` returns.
  public var errorDescription: String? {
    let facts = facts.description
    return facts.isEmpty ? message : "\(message) (\(facts))"
  }

  /// What the code means, where the error has a sentence of its own. A token that is of another database, or of a zone that was
  /// made again, has the code of one that is too old, but not its reason.
  public var failureReason: String? {
    message == code.sentence || code == .changeTokenExpired ? nil : code.sentence
  }

  /// What a person, or the programmer, can do about it; nil where that depends.
  public var recoverySuggestion: String? {
    switch code {
    case .serverRecordChanged: "Merge into the version that is stored now, and save that."
    case .changeTokenExpired, .changeTokenForked: "Fetch all changes again, without a token."
    case .locked: "Close what else has the database open, or resume it, and try again."
    case .diskFull: "Free some room on the disk, and try again."
    case .outcomeUnknown: "Open the database again and look whether the change is there."
    case .corrupted: "`daybook check` says what is damaged, `daybook salvage` copies what is intact into a new file."
    case .formatTooNew: "Use a newer version of Daybook."
    case .snapshotTooOld: "Begin a new snapshot."
    case .zoneNotFound: "Save the zone first: `try database.save(Zone(id))`."
    case .closed: "Open the database again."
    default: retryAfter.map { "Try again after \($0)." }
    }
  }

  /// What stands in `NSError.userInfo` on Apple platforms.
  package var userInfo: [String: Any] {
    var info: [String: Any] = [:]
    info["NSLocalizedDescription"] = errorDescription
    info["NSLocalizedFailureReason"] = failureReason
    info["NSLocalizedRecoverySuggestion"] = recoverySuggestion
    if let retryAfter {
      let (seconds, attoseconds) = retryAfter.components
      info["CKErrorRetryAfterKey"] = Double(seconds) + Double(attoseconds) / 1e18
    }
    if let cause { info["NSUnderlyingError"] = cause }
    if let path = facts.path { info["NSFilePath"] = path }
    if !partialErrors.isEmpty { info["CKPartialErrorsByItemID"] = partialErrors }
    if !partialZoneErrors.isEmpty { info["CKPartialErrorsByItemID"] = partialZoneErrors }
    return info
  }
}

#if canImport(Darwin)
  extension DatabaseError: CustomNSError {
    /// `"Daybook"`; the codes are those of ``Code``, of which 1 to 37 are CloudKit's.
    public static var errorDomain: String { "Daybook" }
    /// The number of the code.
    public var errorCode: Int { code.rawValue }
    /// Sentence, reason, what helps, the wait before another try, the cause and the errors of single items, under the keys of
    /// Foundation and CloudKit.
    public var errorUserInfo: [String: Any] { userInfo }
  }
#endif
