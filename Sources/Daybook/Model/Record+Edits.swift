import DaybookEngine

/// How edits and the stored body together make the fields of a record. Both namespaces go through here.
extension Record {
  /// Where a key is among the edits, or would be.
  private struct Position {
    var index = 0
    var isFound = false
  }

  /// The position of a key whose head is known.
  @inline(__always)
  private func position(of key: ByteView, head: UInt64) -> Position {
    var lower = 0
    var upper = edits.count
    while lower < upper {
      let middle = (lower &+ upper) &>> 1
      let other = edits[middle].head
      var order = other < head ? -1 : other > head ? 1 : 0
      if order == 0 { order = UTF8Order.compare(edits[middle].key, key) }
      if order == 0 { return Position(index: middle, isFound: true) }
      if order < 0 { lower = middle &+ 1 } else { upper = middle }
    }
    return Position(index: lower)
  }

  private func position(of key: String) -> Position {
    UTF8Order.withView(of: key) { position(of: $0, head: UTF8Order.head(of: $0)) }
  }

  @usableFromInline
  func value(forKey key: String, isEncrypted: Bool) -> Value? {
    if !edits.isEmpty {
      let place = position(of: key)
      if place.isFound {
        if edits[place.index].isEncrypted == isEncrypted { return edits[place.index].value }
        if edits[place.index].kind != nil { return nil }
      }
    }
    return body.value(forKey: key, isEncrypted: isEncrypted)
  }

  func typedValue<T: RecordValueConvertible>(
    _ type: T.Type, forKey key: String, isEncrypted: Bool
  ) throws(DatabaseError) -> T {
    guard let value = value(forKey: key, isEncrypted: isEncrypted) else {
      if let mark = body.mark(forKey: key), mark.isEncrypted == isEncrypted, !position(of: key).isFound {
        if mark.isSealed, let fault = body.openingFault(forKey: key) { throw fault }
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
    // The bytes of the key are looked at once, for everything.
    let (isSound, head, place) = UTF8Order.withView(of: key) { bytes in
      let head = UTF8Order.head(of: bytes)
      return (NameRules.isSoundKey(bytes), head, position(of: bytes, head: head))
    }
    guard isSound else { throw NameRules.fault(ofBadKey: key) }
    let isTaken = hasValue(forKey: key, at: place, isEncrypted: !isEncrypted)
    guard let value else {
      // Nothing to remove where the other namespace holds the key.
      if !isTaken { put(FieldEdit(key: key, head: head, isEncrypted: isEncrypted, value: nil), at: place) }
      forgive(key, isEncrypted)
      return
    }
    if isEncrypted, value.kind.isAsset || value.kind.isReference {
      throw DatabaseError(
        .invalidArguments, "Assets and references cannot be encrypted values.",
        facts: .init(key: key, found: value.kind.name))
    }
    if isTaken {
      throw DatabaseError(
        .invalidArguments, "A key is either encrypted or plain, never both.", facts: .init(key: key))
    }
    let storable: Value
    do throws(DatabaseError) {
      storable = try value.storable()
    } catch {
      throw error.adding { $0.key = key }
    }
    put(FieldEdit(key: key, head: head, isEncrypted: isEncrypted, value: storable), at: place)
    forgive(key, isEncrypted)
  }

  /// A key that was set rightly in the end has nothing to be refused for.
  private mutating func forgive(_ key: String, _ isEncrypted: Bool) {
    if refusals.isEmpty { return }
    refusals.removeAll { $0.isEncrypted == isEncrypted && UTF8Order.equal($0.key, key) }
  }

  /// Sets, or remembers why not.
  @usableFromInline
  mutating func assign(_ value: consuming Value?, forKey key: String, isEncrypted: Bool) {
    do throws(DatabaseError) {
      try store(value, forKey: key, isEncrypted: isEncrypted)
    } catch {
      refuse(key, isEncrypted, error)
    }
  }

  /// Remembers why a key or value was refused.
  @usableFromInline
  mutating func refuse(_ key: String, _ isEncrypted: Bool, _ error: DatabaseError) {
    forgive(key, isEncrypted)
    refusals.append(Refusal(key: key, isEncrypted: isEncrypted, error: error.adding { $0.key = key }))
  }

  /// Whether one namespace has a value for the key, whose place among the edits is known.
  private func hasValue(forKey key: String, at place: Position, isEncrypted: Bool) -> Bool {
    if place.isFound {
      let isRemoval = edits[place.index].kind == nil
      if edits[place.index].isEncrypted == isEncrypted { return !isRemoval }
      if !isRemoval { return false }
    }
    return body.fieldCount > 0 && body.mark(forKey: key)?.isEncrypted == isEncrypted
  }

  /// Puts an edit in its place; the newer one of a key wins.
  mutating func put(_ edit: FieldEdit) { put(edit, at: position(of: edit.key)) }

  @inline(__always)
  private mutating func put(_ edit: consuming FieldEdit, at place: Position) {
    if place.isFound {
      edits[place.index] = edit
      return
    }
    // Few records have more than twelve fields; growing from one would copy four times.
    if edits.isEmpty { edits.reserveCapacity(12) }
    if place.index == edits.count {
      edits.append(edit)
    } else {
      edits.insert(edit, at: place.index)
    }
  }

  /// Where the present value of a field is.
  enum FieldSource {
    case stored(FieldMark, ByteView)
    case edit(isEncrypted: Bool, Value)
  }

  /// Calls `visit` for each field that has a value, in order of the keys' bytes; views end with the call.
  func forEachField(_ visit: (String, FieldSource) -> Void) {
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
          if edit.isEncrypted == field.mark.isEncrypted { continue }
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

  func changedKeys(isEncrypted: Bool) -> Set<String> {
    Set(edits.lazy.filter { $0.isEncrypted == isEncrypted }.map(\.key))
  }

  func removedKeys(isEncrypted: Bool) -> Set<String> {
    Set(edits.lazy.filter { $0.isEncrypted == isEncrypted && $0.isRemoval }.map(\.key))
  }
}
