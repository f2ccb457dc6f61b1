import DaybookEngine

/// How edits and the stored body together make the fields of a record. Both namespaces go through here.
extension Record {
  @usableFromInline
  func value(forKey key: String, isEncrypted: Bool) -> Value? {
    if let draft {
      if let expected = draft.expected { return isEncrypted ? nil : value(forKey: key, draft, expected) }
      let place = UTF8Order.withView(of: key) { draft.position(of: $0, head: UTF8Order.head(of: $0)) }
      if place.isFound {
        let edits = draft.edits
        let isFinal = edits[place.index].kind != nil || edits[place.index].isOfBoth
        if edits[place.index].isEncrypted == isEncrypted { return edits[place.index].value }
        if isFinal { return nil }
      }
    }
    return body.value(forKey: key, isEncrypted: isEncrypted)
  }

  /// What came as expected and what is stored, which is nothing, are all that the record has.
  private func value(forKey key: String, _ draft: RecordDraft, _ expected: KeyOrder) -> Value? {
    guard let number = UTF8Order.withView(of: key, { expected.number(of: $0) }),
      number < draft.expectedEdits.count, draft.expectedEdits[number].isValue
    else { return nil }
    return draft.expectedEdits[number].value
  }

  /// Whether a key was set or removed.
  private func hasEdit(forKey key: String) -> Bool {
    guard let draft else { return false }
    return UTF8Order.withView(of: key) { bytes in
      if let expected = draft.expected {
        return expected.number(of: bytes).map { draft.expectedEdits.form($0) != ExpectedEdit.absent } ?? false
      }
      return draft.position(of: bytes, head: UTF8Order.head(of: bytes)).isFound
    }
  }

  func typedValue<T: RecordValueConvertible>(
    _ type: T.Type, forKey key: String, isEncrypted: Bool
  ) throws(DatabaseError) -> T {
    guard let value = value(forKey: key, isEncrypted: isEncrypted) else {
      if let mark = body.mark(forKey: key), mark.isEncrypted == isEncrypted, !hasEdit(forKey: key) {
        if let fault = body.openingFault(forKey: key) { throw fault }
        throw DatabaseError(BodyFault.badValue, facts: .init(key: key))
      }
      throw DatabaseError(.unknownItem, "The record has no value for the key.", facts: .init(key: key))
    }
    guard let result = T(recordValue: value) else {
      throw DatabaseError(
        .invalidArguments, "The value of the key is of another kind or out of range.",
        facts: .init(key: key, expected: "\(T.self)", found: value.kind.name))
    }
    return result
  }

  /// Sets or refuses.
  mutating func store(_ value: consuming Value?, forKey key: String, isEncrypted: Bool) throws(DatabaseError) {
    if !isEncrypted, isTaken(&value, forKey: key) { return }
    try storeEdit(value, forKey: key, isEncrypted: isEncrypted)
  }

  @inline(__always)
  private mutating func storeEdit(
    _ value: consuming Value?, forKey key: String, isEncrypted: Bool
  ) throws(DatabaseError) {
    if !isEncrypted, takesFirst(&value, key) { return }
    // One look at the draft for everything: each counts a reference (row: record-insert).
    let draft = ownDraft()
    // The bytes of the key, too, are looked at once.
    let (isSound, head, place) = UTF8Order.withView(of: key) { bytes in
      let head = UTF8Order.head(of: bytes)
      return (NameRules.isSoundKey(bytes), head, draft.position(of: bytes, head: head))
    }
    guard isSound else { throw NameRules.fault(ofBadKey: key) }
    let isTaken = hasValue(forKey: key, draft, at: place, isEncrypted: !isEncrypted)
    guard var storable = value else {
      // Nothing to remember where the other namespace has the key.
      if !isTaken { draft.put(key, head: head, isEncrypted, nil, nil, at: place) }
      draft.forgive(key, isEncrypted)
      return
    }
    let kind = storable.kind
    if isEncrypted, kind.isAsset || kind.isReference {
      throw DatabaseError(
        .invalidArguments, "Assets and references cannot be encrypted values.",
        facts: .init(key: key, found: kind.name))
    }
    if isTaken {
      throw DatabaseError(
        .invalidArguments, "A key is either encrypted or plain, never both.", facts: .init(key: key))
    }
    if kind.holdsDoubles {
      do throws(DatabaseError) { storable = try storable.storable() } catch { throw error.adding { $0.key = key } }
    }
    draft.put(key, head: head, isEncrypted, kind, storable, at: place)
    draft.forgive(key, isEncrypted)
  }

  /// Sets, or remembers why not.
  @usableFromInline
  mutating func assign(_ value: consuming Value?, forKey key: String, isEncrypted: Bool) {
    if !isEncrypted, isTaken(&value, forKey: key) { return }
    assignEdit(value, forKey: key, isEncrypted: isEncrypted)
  }

  @inline(never)
  private mutating func assignEdit(_ value: consuming Value?, forKey key: String, isEncrypted: Bool) {
    let isRemoval = value == nil
    do throws(DatabaseError) {
      try storeEdit(value, forKey: key, isEncrypted: isEncrypted)
    } catch {
      // A key that no record has can be set by mistake and taken back.
      if isRemoval { ownDraft().forgive(key, isEncrypted) } else { refuse(key, isEncrypted, error) }
    }
  }

  /// Remembers why a key or value was refused.
  @usableFromInline
  mutating func refuse(_ key: String, _ isEncrypted: Bool, _ error: DatabaseError) {
    ownDraft().forgive(key, isEncrypted)
    refusals.append(Refusal(key: key, isEncrypted: isEncrypted, error: error.adding { $0.key = key }))
  }

  /// Whether one namespace has a value for the key, whose place among the edits is known.
  @inline(__always)
  private func hasValue(
    forKey key: String, _ draft: RecordDraft, at place: RecordDraft.Position, isEncrypted: Bool
  ) -> Bool {
    if place.isFound {
      let edits = draft.edits
      let isRemoval = edits[place.index].kind == nil
      if edits[place.index].isEncrypted == isEncrypted { return !isRemoval }
      if !isRemoval || edits[place.index].isOfBoth { return false }
    }
    return body.fieldCount > 0 && body.mark(forKey: key)?.isEncrypted == isEncrypted
  }

  /// Puts an edit in its place; the newer one of a key wins.
  mutating func put(_ edit: FieldEdit) {
    let draft = ownDraft()
    draft.put(edit, at: UTF8Order.withView(of: edit.key) { draft.position(of: $0, head: edit.head) })
  }

  /// Where the present value of a field is.
  enum FieldSource {
    case stored(FieldMark, ByteView)
    case edit(isEncrypted: Bool, Value)
  }

  /// Calls `visit` for each field that has a value, in order of the keys' bytes; views end with the call.
  func forEachField(_ visit: (String, FieldSource) -> Void) {
    let edits = edits
    body.withFields { cursor in
      var next = 0
      while let field = cursor.next() {
        guard let key = UTF8Order.string(field.key, isValid: false) else { continue }
        while next < edits.count, UTF8Order.compare(edits[next].key, field.key) < 0 {
          if let value = edits[next].value {
            visit(edits[next].key, .edit(isEncrypted: edits[next].isEncrypted, value))
          }
          next += 1
        }
        if next < edits.count, UTF8Order.compare(edits[next].key, field.key) == 0 {
          let edit = edits[next]
          next += 1
          if let value = edit.value {
            visit(key, .edit(isEncrypted: edit.isEncrypted, value))
            continue
          }
          if edit.isEncrypted == field.mark.isEncrypted || edit.isOfBoth { continue }
        }
        visit(key, .stored(field.mark, field.value))
      }
      while next < edits.count {
        if let value = edits[next].value {
          visit(edits[next].key, .edit(isEncrypted: edits[next].isEncrypted, value))
        }
        next += 1
      }
    }
  }

  func keys(isEncrypted wanted: Bool) -> [String] {
    var keys: [String] = []
    forEachField { key, source in
      let isEncrypted =
        switch source {
        case .stored(let mark, _): mark.isEncrypted
        case .edit(let isEncrypted, _): isEncrypted
        }
      if isEncrypted == wanted { keys.append(key) }
    }
    return keys
  }

  /// The keys of one namespace with their values, in order of the keys' bytes; nil for bytes that are no value of their kind, and
  /// for what cannot be opened. One walk, where to look for each key is to walk from the front each time.
  package func fieldValues(isEncrypted wanted: Bool = false) -> [(key: String, value: Value?)] {
    var fields: [(key: String, value: Value?)] = []
    forEachField { key, source in
      switch source {
      case .stored(let mark, let bytes):
        if mark.isEncrypted == wanted { fields.append((key, body.value(mark, bytes, key: key))) }
      case .edit(let isEncrypted, let value): if isEncrypted == wanted { fields.append((key, value)) }
      }
    }
    return fields
  }

  func changedKeys(isEncrypted: Bool) -> Set<String> {
    Set(edits.lazy.filter { $0.isEncrypted == isEncrypted || $0.isOfBoth && $0.isRemoval }.map(\.key))
  }

  func removedKeys(isEncrypted: Bool) -> Set<String> {
    Set(edits.lazy.filter { ($0.isEncrypted == isEncrypted || $0.isOfBoth) && $0.isRemoval }.map(\.key))
  }
}
