#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Reading and writing a record's plain values. What happens underneath is in Record+Edits.swift.

extension Record {
  /// The value of a key; nil when it has none. Setting nil removes the key, and the removal is remembered.
  ///
  /// A key or value that is not allowed is left out, remembered, and refused when the record is saved;
  /// ``set(_:forKey:)`` refuses it at once. Reading finds the field and decodes this one only.
  public subscript(key: String) -> Value? {
    get { value(forKey: key, isEncrypted: false) }
    set { assign(newValue, forKey: key, isEncrypted: false) }
  }

  /// The value of a key as a Swift type; nil when it has none or one of another kind.
  ///
  /// The type is the one that is asked for, with `as` and not with `as?`, which casts a ``Value`` and finds nothing:
  ///
  /// ```swift
  /// let year: Int? = record["year"]
  /// let title = record["title"] ?? "untitled"
  /// if let seen = record["seen"] as Date? { … }
  /// ```
  /// `Double` reads whole numbers too, whole-number types read no doubles, `Bool` reads 0 and 1 only. `UUID`, `URL` and
  /// `Decimal` are stored as text, a type with raw values as its raw value, a `Set` as a list.
  @inlinable
  public subscript<T: RecordValueConvertible>(key: String) -> T? {
    // Part of the caller also without optimisation: there, generic code asks at run time what an optional of the type is.
    @_transparent
    get {
      guard let value = value(forKey: key, isEncrypted: false) else { return nil }
      return T(recordValue: value)
    }
    @_transparent
    set {
      do throws(DatabaseError) {
        assign(try newValue?.checkedRecordValue(), forKey: key, isEncrypted: false)
      } catch {
        refuse(key, false, error)
      }
    }
  }

  /// The value of a typed key; nil when it has none or one of another kind.
  @inlinable
  public subscript<T: RecordValueConvertible>(key: Key<T>) -> T? {
    get { self[key.name] }
    set { self[key.name] = newValue }
  }

  /// Sets a value, or removes it with nil.
  ///
  /// - Throws: `invalidArguments`, with the key among the facts, when the key is not a valid name, is reserved or
  ///   encrypted, or the value contains a NaN. Then the record stays as it was.
  public mutating func set(_ value: Value?, forKey key: String) throws(DatabaseError) {
    try store(value, forKey: key, isEncrypted: false)
  }

  /// The value of a key as a Swift type.
  ///
  /// - Throws: `unknownItem` when the key has no value; `invalidArguments` when it has one of another kind or out of
  ///   the type's range, with what was expected and found.
  public func value<T: RecordValueConvertible>(_ type: T.Type, forKey key: String) throws(DatabaseError) -> T {
    try typedValue(type, forKey: key, isEncrypted: false)
  }

  /// The keys that have a value, in order of their bytes; without the encrypted ones.
  public var keys: [String] { keys(isEncrypted: false) }

  /// The keys that were set or removed since the record was read or last saved, without the encrypted ones.
  ///
  /// A removal is a change: the key is in here too, and the database clears it when the record is saved.
  public var changedKeys: Set<String> { changedKeys(isEncrypted: false) }

  /// The keys that were removed since the record was read or last saved; a part of ``changedKeys``.
  public var removedKeys: Set<String> { removedKeys(isEncrypted: false) }

  /// The words of all texts of the record, plain ones only: pieces between whitespace, in key order, repeated ones
  /// repeated.
  public func allTokens() -> [String] {
    var tokens: [String] = []
    for (_, value) in fieldValues() {
      let texts: [String] =
        switch value {
        case .string(let text): [text]
        case .strings(let list): list
        default: []
        }
      for text in texts { tokens += text.split(whereSeparator: \.isWhitespace).map { String($0) } }
    }
    return tokens
  }

  /// How many bytes the keys and values take when stored, encrypted ones included, bytes of assets not.
  /// Compare it with ``Limits/recordByteCount``. Costs one walk over the fields.
  public var encodedByteCount: Int {
    body.withZoneKey { zoneKey in
      var total = 0
      forEachField { key, source in
        total = total.adding(RecordBody.tableStride + key.utf8.count)
        switch source {
        case .stored(let mark, let bytes):
          total += bytes.count
          if let kind = mark.kind, kind.isAsset {
            total -= body.value(mark, bytes, key: key)?.inlineByteCount ?? 0
          }
        case .edit(_, let value):
          total = total.adding(ValueCoding.byteCount(of: value, zoneKey: zoneKey))
        }
      }
      return total
    }
  }
}

extension Record.Value {
  /// The bytes of assets that lie in the record.
  var inlineByteCount: Int {
    switch self {
    case .asset(let asset): asset.data?.count ?? 0
    case .assets(let list): list.reduce(0) { $0.adding($1.data?.count ?? 0) }
    default: 0
    }
  }
}

extension Record {
  /// Whether an asset or a list of them was set since the record was read.
  package var hasEditedAssets: Bool {
    if let draft, draft.expected != nil { return draft.has(.asset, or: .assets) }
    return withEdits { edits in
      for index in edits.indices {
        if let kind = edits[index].kind, kind.isAsset { return true }
      }
      return false
    }
  }

  /// The assets that were set since the record was read.
  package var editedAssets: [Asset] {
    guard hasEditedAssets else { return [] }
    return withEdits { edits in
      edits.indices.flatMap { index -> [Asset] in
        switch edits[index].value {
        case .asset(let asset): [asset]
        case .assets(let list): list
        default: []
        }
      }
    }
  }

  /// Replaces the assets that were set since the record was read: the database stores them, then knows their digests.
  ///
  /// - Parameter replacement: from an asset to the asset as it is stored. What it throws leaves with record and key.
  package mutating func replaceEditedAssets(
    _ replacement: (_ asset: Asset) throws(DatabaseError) -> Asset
  ) throws(DatabaseError) {
    func stored(_ asset: Asset, _ key: String) throws(DatabaseError) -> Asset {
      do { return try replacement(asset) } catch {
        throw error.adding(id, key: key)
      }
    }
    var edits = edits
    for index in edits.indices {
      switch edits[index].value {
      case .asset(let asset):
        edits[index].value = .asset(try stored(asset, edits[index].key))
      case .assets(let list):
        var assets: [Asset] = []
        for asset in list { assets.append(try stored(asset, edits[index].key)) }
        edits[index].value = .assets(assets)
      default: continue
      }
    }
    self.edits = edits
  }
}
