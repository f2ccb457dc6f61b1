/// A record: an identity, a type, and values under keys.
///
/// A record is a value. What the database handed out does not change when the database does, and what is changed
/// here reaches the database with a save. Changes and removals are remembered until then (``changedKeys``).
///
/// Inside, a record is one stored body, whose fields are decoded when they are read, and a short sorted list of
/// edits beside it. Copying a record copies two references. Records of one page share memory, in pieces of a few
/// kilobytes: keeping one of them keeps its piece.
public struct Record: Identifiable, Sendable {
  /// Identity, metadata and the fields as they were read; without fields for a new record.
  package var body: RecordBody
  /// What was changed since; nil for a record that is as it was read.
  var draft: RecordDraft?

  /// What is to happen to the parent.
  enum ParentEdit: Sendable {
    case unchanged
    case removed
    /// The name of a record in the same zone.
    case set(String)
  }

  /// A key or value that was refused, and why.
  struct Refusal: Sendable {
    let key: String
    var isEncrypted = false
    let error: DatabaseError
  }

  /// A new record.
  ///
  /// - Parameters:
  ///   - type: its type, for good: a letter, then letters, digits and underscores, at most 255.
  ///   - id: a random name in the default zone when left out.
  /// - Throws: `invalidArguments` when the type is not valid or belongs to the system.
  public init(type: String, id: ID = ID()) throws(DatabaseError) {
    if let fault = NameRules.faultOfType(type, isNew: true) { throw fault }
    body = RecordBody(newType: type, id: id)
  }

  /// A new record of any type, also of one of the system's: for what was a record elsewhere.
  package init(restoring type: String, id: ID) throws(DatabaseError) {
    if let fault = NameRules.faultOfType(type, isNew: false) { throw fault }
    body = RecordBody(newType: type, id: id)
  }

  /// A record as a server has it: with metadata, without changed keys. Remote databases of your own make theirs so.
  ///
  /// - Throws: `invalidArguments` when type, a key, a value or the parent is not valid.
  public init(
    type: String, id: ID, metadata: Metadata, values: [String: Value] = [:], encryptedValues: [String: Value] = [:],
    parent: Reference? = nil
  ) throws(DatabaseError) {
    if let fault = NameRules.faultOfType(type, isNew: false) { throw fault }
    var record = Record(body: RecordBody(newType: type, id: id))
    // In the order of keys, in which edits lie: in another one, thousands of them are moved for each that is set.
    for (key, value) in values.sorted(by: { UTF8Order.compare($0.key, $1.key) < 0 }) { try record.set(value, forKey: key) }
    for (key, value) in encryptedValues.sorted(by: { UTF8Order.compare($0.key, $1.key) < 0 }) {
      try record.encryptedValues.set(value, forKey: key)
    }
    record.parent = parent
    try self.init(committing: record, metadata: metadata)
  }

  /// A stored record.
  ///
  /// - Parameter desiredKeys: the only fields to keep; nil for all, empty for metadata only.
  package init(body: RecordBody, desiredKeys: [String]? = nil) {
    self.body = desiredKeys.map { body.keeping(onlyKeys: $0) } ?? body
  }

  /// The same with all its fields.
  @inline(__always)
  init(stored body: consuming RecordBody) { self.body = body }

  /// Name and zone.
  public var id: ID { body.id }

  /// The type, which never changes.
  public var type: String { body.type }

  /// What the database knows about the record: change tag, dates, users, device. Nil before the first save.
  public var metadata: Metadata? { body.metadata }

  /// The record that this one belongs to.
  ///
  /// A parent is in the same zone and its reference has the action `none`; another one is refused at save. It must exist
  /// when the commit with its child is made, and it is not deleted while a child remains: `referenceViolation`. Saving a
  /// child leaves the parent's change tag alone.
  public var parent: Reference? {
    get {
      let name: String? =
        switch parentEdit {
        case .unchanged: body.parentName
        case .removed: nil
        case .set(let name): name
        }
      return name.map { Reference(ID(unchecked: $0, in: body.zoneID)) }
    }
    set {
      if !refusals.isEmpty { refusals.removeAll { $0.key == "parent" } }
      guard let newValue else {
        parentEdit = .removed
        return
      }
      guard newValue.action == .none, newValue.id.zone == body.zoneID else {
        let error = DatabaseError(
          .invalidArguments,
          newValue.action == .none
            ? "ZoneId provided doesn't match target zone." : "The reference of a parent has the action none.",
          facts: .init(zone: body.zoneID, name: body.name, key: "parent", target: newValue.id))
        refusals.append(Refusal(key: "parent", error: error))
        return
      }
      parentEdit = .set(newValue.id.name)
    }
  }

  /// Takes over what is stored now and keeps the own changes: the step between a conflict and the next save.
  ///
  /// Afterwards the record has `current`'s change tag and its values for every key that was not changed here.
  /// Changed and removed keys stay changed. A record of another identity is refused at save.
  public mutating func rebase(onto current: Record) {
    guard current.id == id, UTF8Order.equal(current.type, type) else {
      let error = DatabaseError(
        .invalidArguments, "A record can only be rebased onto another version of itself.",
        facts: .init(zone: id.zone, name: id.name))
      refusals.append(Refusal(key: "recordID", error: error))
      return
    }
    // What is expected is expected of records without stored fields.
    if draft != nil { _ = ownDraft() }
    body = current.body
    let own = edits
    if hasEdits || current.hasEdits { edits = current.edits }
    for edit in own { put(edit) }
    if !hasParentChange, current.hasParentChange { parentEdit = current.parentEdit }
  }

  /// Whether a save would write anything.
  package var hasChanges: Bool { hasEdits || hasParentChange }

  /// Whether the parent was set or removed.
  package var hasParentChange: Bool {
    if case .unchanged = parentEdit { false } else { true }
  }

  /// Throws what a subscript could not: the first key or value that was refused, or a reference to another zone.
  package func validateForSave() throws(DatabaseError) {
    guard let draft else { return }
    if draft.expected != nil {
      // Nothing of it was refused.
      if draft.has(.reference, or: .references) { try spelledOut.validateForSave() }
      return
    }
    if let refusal = draft.refusals.first { throw refusal.error }
    // By index here and in the encoder: a copy of an edit costs two reference counts, for each field of each save.
    let edits = draft.edits
    for index in edits.indices {
      guard let kind = edits[index].kind, kind.isReference else { continue }
      let elsewhere: Reference? =
        switch edits[index].value {
        case .reference(let reference): reference.id.zone == body.zoneID ? nil : reference
        case .references(let list): list.first { $0.id.zone != body.zoneID }
        default: nil
        }
      if let elsewhere {
        throw DatabaseError(
          .invalidArguments, "ZoneId provided doesn't match target zone.",
          facts: .init(zone: body.zoneID, name: body.name, key: edits[index].key, target: elsewhere.id))
      }
    }
    withExtendedLifetime(draft) {}
  }
}
