/// The second namespace of a record's keys. `Fields` is a record seen from that side: it has a copy, and setting it
/// back takes over the encrypted edits only.

extension Record {
  /// Values that are encrypted where the database has a cipher, and that no query can see.
  ///
  /// They have a namespace of their own, yet a key is either encrypted or plain, never both; setting the other kind
  /// is refused at save. Assets (which are kept apart anyway) and references are not allowed.
  public var encryptedValues: Fields {
    get { Fields(record: self) }
    set {
      let own = newValue.record
      if own.body.isIdentical(to: body) {
        let plain = edits.filter { !$0.isEncrypted }
        refusals = refusals.filter { !$0.isEncrypted } + own.refusals.filter(\.isEncrypted)
        edits = merged(plain, own.edits.filter(\.isEncrypted))
      } else {
        for key in encryptedValues.keys { assign(nil as Value?, forKey: key, isEncrypted: true) }
        for key in newValue.keys { assign(newValue[key] as Value?, forKey: key, isEncrypted: true) }
      }
    }
  }

  /// The edits of both namespaces in one list, each in the order of keys: a key that would be both is refused at save.
  private mutating func merged(_ plain: [FieldEdit], _ encrypted: [FieldEdit]) -> [FieldEdit] {
    var result: [FieldEdit] = []
    result.reserveCapacity(plain.count + encrypted.count)
    var next = 0
    for edit in plain {
      while next < encrypted.count, UTF8Order.compare(encrypted[next].key, edit.key) < 0 {
        result.append(encrypted[next])
        next += 1
      }
      guard next < encrypted.count, UTF8Order.equal(encrypted[next].key, edit.key) else {
        result.append(edit)
        continue
      }
      let other = encrypted[next]
      next += 1
      result.append(other.isRemoval ? edit : other)
      if !other.isRemoval, !edit.isRemoval {
        let error = DatabaseError(
          .invalidArguments, "A key is either encrypted or plain, never both.", facts: .init(key: edit.key))
        refusals.append(Refusal(key: edit.key, error: error))
      }
    }
    result += encrypted[next...]
    return result
  }

  /// The encrypted values of a record.
  public struct Fields: Sendable {
    var record: Record

    /// The value of a key; nil when it has none, when it is sealed and the database has no cipher to open it, and when it
    /// is not sealed though the database has one (``Database/Options/acceptsUnsealedValues``).
    /// Setting nil removes the key, and the removal is remembered.
    public subscript(key: String) -> Value? {
      get { record.value(forKey: key, isEncrypted: true) }
      set { record.assign(newValue, forKey: key, isEncrypted: true) }
    }

    /// The value of a key as a Swift type; nil when it has none or one of another kind.
    public subscript<T: RecordValueConvertible>(key: String) -> T? {
      get { record.value(forKey: key, isEncrypted: true).flatMap { T(recordValue: $0) } }
      set {
        do throws(DatabaseError) {
          record.assign(try newValue?.checkedRecordValue(), forKey: key, isEncrypted: true)
        } catch {
          record.refuse(key, true, error)
        }
      }
    }

    /// The value of a typed key; nil when it has none or one of another kind.
    public subscript<T: RecordValueConvertible>(key: Key<T>) -> T? {
      get { self[key.name] }
      set { self[key.name] = newValue }
    }

    /// Sets a value, or removes it with nil.
    ///
    /// - Throws: `invalidArguments`, with the key among the facts, when the key is not a valid name, is reserved or
    ///   plain, or the value is an asset, a reference or contains a NaN.
    public mutating func set(_ value: Value?, forKey key: String) throws(DatabaseError) {
      try record.store(value, forKey: key, isEncrypted: true)
    }

    /// The value of a key as a Swift type.
    ///
    /// - Throws: `unknownItem` when the key has no value, `invalidArguments` when it has one of another kind or out
    ///   of range, `permissionFailure` when it is sealed and there is no cipher to open it, or not sealed though there is one.
    public func value<T: RecordValueConvertible>(_ type: T.Type, forKey key: String) throws(DatabaseError) -> T {
      try record.typedValue(type, forKey: key, isEncrypted: true)
    }

    /// The keys that have a value, in order of their bytes.
    public var keys: [String] { record.keys(isEncrypted: true) }

    /// The keys that were set or removed since the record was read or last saved.
    public var changedKeys: Set<String> { record.changedKeys(isEncrypted: true) }

    /// The keys that were removed since the record was read or last saved.
    public var removedKeys: Set<String> { record.removedKeys(isEncrypted: true) }
  }
}
