import DaybookEngine

/// What every public call of Daybook throws: a stable code, a fixed sentence, and the facts beside it.
///
/// Match on ``code``; search for ``message``, which is the same sentence every time; read ``facts`` for what differed.
/// Values of a record are never among them. The error is one pointer wide, so that a call that may throw it costs
/// nothing while it does not.
public struct DatabaseError: Error, Sendable {
  /// The record versions behind a ``Code-swift.enum/serverRecordChanged``.
  public struct Conflict: Sendable {
    /// The version that the client's changes were made on, when it is still known.
    public let ancestor: Record?
    /// What the client wanted to save.
    public let client: Record
    /// What is stored now; nil when the record is gone. Merge into this one and save it again.
    public let server: Record?

    /// The three versions of a conflict.
    public init(ancestor: Record?, client: Record, server: Record?) {
      self.ancestor = ancestor
      self.client = client
      self.server = server
    }
  }

  private struct Parts: Sendable {
    let code: Code
    let message: String
    let facts: Facts
    let cause: (any Error)?
    let retryAfter: Duration?
    let conflict: Conflict?
    let partialErrors: [Record.ID: DatabaseError]
    let partialZoneErrors: [Zone.ID: DatabaseError]
  }

  private let parts: Box<Parts>

  /// An error with its parts. Remote databases of your own make theirs with this.
  ///
  /// - Parameters:
  ///   - code: what to match on.
  ///   - message: a fixed sentence without values; the code's own sentence when nil.
  public init(
    _ code: Code, _ message: String? = nil, facts: Facts = Facts(), cause: (any Error)? = nil,
    retryAfter: Duration? = nil, conflict: Conflict? = nil, partialErrors: [Record.ID: DatabaseError] = [:],
    partialZoneErrors: [Zone.ID: DatabaseError] = [:]
  ) {
    parts = Box(
      Parts(
        code: code, message: message ?? code.sentence, facts: facts, cause: cause, retryAfter: retryAfter,
        conflict: conflict, partialErrors: partialErrors, partialZoneErrors: partialZoneErrors))
  }

  /// What happened, as a stable number.
  public var code: Code { parts.content.code }
  /// What happened, as a sentence that never changes with the data.
  public var message: String { parts.content.message }
  /// What differed this time: file, offset, key, sizes.
  public var facts: Facts { parts.content.facts }
  /// The error underneath, when there was one.
  public var cause: (any Error)? { parts.content.cause }
  /// How long to wait before the same call may succeed; only transient errors have it.
  public var retryAfter: Duration? { parts.content.retryAfter }
  /// The versions of a conflict; only `serverRecordChanged` has it.
  public var conflict: Conflict? { parts.content.conflict }
  /// What went wrong with each record; only `partialFailure` has it.
  public var partialErrors: [Record.ID: DatabaseError] { parts.content.partialErrors }
  /// What went wrong with each zone; only `partialFailure` has it.
  public var partialZoneErrors: [Zone.ID: DatabaseError] { parts.content.partialZoneErrors }

  /// The same error with more facts.
  package func adding(_ change: (inout Facts) -> Void) -> DatabaseError {
    var facts = facts
    change(&facts)
    return DatabaseError(
      code, message, facts: facts, cause: cause, retryAfter: retryAfter, conflict: conflict,
      partialErrors: partialErrors, partialZoneErrors: partialZoneErrors)
  }
}

extension DatabaseError: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The cause, where it is somebody else's: the engine's own only say once more what the sentence and the facts say.
  private var causeInWords: String? {
    switch cause {
    case nil, is StoreError, is LogFault, is PageFault, is AssetFault, is DiskFailure, is FileHeader.Fault: nil
    case let cause?: "\(cause)"
    }
  }

  /// ``description``, and a line for each item that failed.
  public var debugDescription: String {
    var lines = [description]
    for (id, error) in partialErrors.sorted(by: { $0.key.description < $1.key.description }).prefix(Glimpse.keyLimit) {
      lines.append("  \(ShownText.escaped(id.description)): \(error)")
    }
    for (id, error) in partialZoneErrors.sorted(by: { $0.key.description < $1.key.description }).prefix(Glimpse.keyLimit) {
      lines.append("  \(ShownText.escaped(id.description)): \(error)")
    }
    return lines.joined(separator: "\n")
  }

  /// Its parts, as far as there are any.
  public var customMirror: Mirror {
    var children: [(label: String?, value: Any)] = [("code", code), ("message", message)]
    let facts = facts.description
    if !facts.isEmpty { children.append(("facts", facts)) }
    if let cause { children.append(("cause", causeInWords ?? cause)) }
    if let retryAfter { children.append(("retryAfter", retryAfter)) }
    if let conflict { children.append(("conflict", conflict)) }
    if !partialErrors.isEmpty { children.append(("partialErrors", partialErrors)) }
    if !partialZoneErrors.isEmpty { children.append(("partialZoneErrors", partialZoneErrors)) }
    return Mirror(self, children: children, displayStyle: .struct)
  }

  /// Code, sentence and facts on one line, for a log or a terminal: what a name could do there is escaped. ``facts`` has the
  /// names as they are.
  public var description: String {
    var text = "\(code): \(message)"
    let facts = facts.description
    if !facts.isEmpty { text += " (\(facts))" }
    if let retryAfter { text += " Retry after \(retryAfter)." }
    if let cause = causeInWords { text += " Cause: \(cause)" }
    let failed = partialErrors.count + partialZoneErrors.count
    if failed > 0 { text += " Failed items: \(failed)." }
    return ShownText.escaped(text)
  }
}
