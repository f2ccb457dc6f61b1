import Daybook

/// Values that are changed where they are stored, and values that stay one with their records.

extension Transaction {
  /// Saves the record of a value, and gives the value its new system fields, so that it can be changed and saved again.
  ///
  /// A value whose files became assets is then what a fetch would give: its file URLs lead to what is stored, and what was saved
  /// from a temporary file can be saved again when that is gone. Properties that are no fields are what they are after a fetch. Values
  /// whose type cannot be decoded without following references keep their URLs.
  ///
  /// A value that keeps no system fields and has no files stays as it is. Where the transaction fails, the value has system fields of
  /// a version that was never stored: its next save is refused. Save a copy where that may happen.
  /// - Parameters:
  ///   - zone: that of a new record; a value with system fields stays in its own.
  ///   - policy: as ``save(_:in:policy:options:)`` has it.
  /// - Throws: ``RecordCodingError``, or what saving a record throws.
  @discardableResult
  public func save<T: RecordCodable>(
    _ value: inout T, in zone: Zone.ID = .default, policy: SavePolicy? = nil, options: RecordCodingOptions = .init()
  ) throws -> Record {
    let ready = try ReadyValues([value], in: zone, policy, options)
    let saved = try ready.save(in: self)
    ready.refresh(&value, 0, saved[0])
    return saved[0]
  }

  /// Saves the records of values, in whatever order they refer to each other, and gives each value its new system fields, as
  /// saving one in place does.
  /// - Throws: as saving the values does. Then no value has changed, also none of those that are saved in this transaction already: who
  ///   catches the error and goes on has to fetch them, or to save them with `allKeys`.
  @discardableResult
  public func save<T: RecordCodable>(
    _ values: inout [T], in zone: Zone.ID = .default, policy: SavePolicy? = nil,
    options: RecordCodingOptions = .init()
  ) throws -> [Record] {
    let ready = try ReadyValues(values, in: zone, policy, options)
    let saved = try ready.save(in: self)
    ready.refresh(&values, saved)
    return saved
  }

  /// Reads a value, changes it and saves it; returns what was stored. Fields that the type does not know stay as they are, and so do
  /// those that `change` has left as they were: the raw value of a case that only a newer version has, a date with more digits than the
  /// options write, members of JSON that the type does not know. A list or a nested value that changes is stored as a whole, and where
  /// one that changes is stored in other fields than the type has now, the record gets those of now.
  ///
  /// A record keeps its name: where the value has it from a property, such as `id`, that must stay as it is.
  /// - Throws: what `change` throws; `unknownItem` when there is no such record; ``RecordCodingError``, with `invalidIdentity` for a
  ///   value that has got another record's name; what saving throws.
  @discardableResult
  public func update<T: RecordCodable>(
    _ type: T.Type, _ name: some RecordNameConvertible, in zone: Zone.ID = .default,
    options: RecordCodingOptions = .init(),
    _ change: (inout T) throws -> Void
  ) throws -> T {
    let decoder = RecordDecoder(options: options)
    let encoder = RecordEncoder(zone: zone, options: options)
    let id = try Record.ID(existing: name.recordName, in: zone)
    // What was saved is undone where the new value cannot be read.
    return try savepoint { () throws -> T in
      var referred: [ReferredValue] = []
      let stored = try update(id) { record in
        var value = try decoder.decode(type, from: record)
        // What encoding alone would change. A value that cannot be encoded as it was read shows nothing, and may be mended.
        let unchanged = try? encoder.encoded(value, onto: record, comparesReferred: true)
        // The name of some is another one each time, or never was that of the record.
        let hasItsName = value.recordName == record.id.name
        try change(&value)
        if hasItsName, value.recordName != record.id.name { throw RecordIdentity.renamed(record.id, to: value.recordName) }
        let encoded = try encoder.encoded(value, onto: record, comparesReferred: true)
        // What the stored record refers to, and was left as it was, may be gone: nothing of it is lost now.
        let former = Set(unchanged?.referred ?? [])
        referred = encoded.referred.filter { $0.contents == nil || !former.contains($0) }
        record = try encoder.record(
          of: type, encodedAs: encoded.record, keeping: record, where: unchanged?.record ?? record)
      }
      for value in referred { value.requireRecord(in: self) }
      return try decoder.decode(type, from: stored)
    }
  }

  /// Deletes the record of a value, and those that it owns; deleting one that is not there is no error.
  ///
  /// It is deleted though another save may have changed it since the value was read.
  /// - Parameter zone: where the record is; a value with system fields knows its own.
  /// - Returns: whether there was one.
  /// - Throws: ``RecordCodingError``, with `invalidIdentity` for a value that has neither system fields nor a name that stays, or
  ///   another name than its system fields say, and with `recordTypeMismatch` where the record of its name is of another type; what deleting throws.
  @discardableResult
  public func delete<T: RecordEncodable>(_ value: T, in zone: Zone.ID = .default) throws -> Bool {
    try delete(RecordIdentity.storedID(of: value, in: zone), ofType: T.recordType)
  }

  /// Deletes the records of values, and those that they own; those that are not there are no error.
  /// - Throws: as ``delete(_:in:)-(T,_)``, at the first that is refused; those before it are deleted in this transaction.
  public func delete<T: RecordEncodable>(_ values: [T], in zone: Zone.ID = .default) throws {
    for value in values { try delete(value, in: zone) }
  }

  /// Deletes the value with this name, and the records that it owns; deleting one that is not there is no error.
  /// - Returns: whether there was one.
  /// - Throws: `recordTypeMismatch`, as ``RecordCodingError``, where the record of this name is of another type: it stays; what
  ///   deleting throws.
  @discardableResult
  public func delete<T: RecordDecodable>(
    _ type: T.Type, _ name: some RecordNameConvertible, in zone: Zone.ID = .default
  ) throws -> Bool {
    try delete(try Record.ID(existing: name.recordName, in: zone), ofType: T.recordType)
  }

  /// Deletes a record that has to be of a type.
  fileprivate func delete(_ id: Record.ID, ofType type: String) throws -> Bool {
    let stored = try record(id)
    if let stored, !stored.body.isOf(type: type) {
      throw RecordCodingError(
        .recordTypeMismatch, "The record is of another type than the value.",
        facts: .init(zone: id.zone, name: id.name, expected: type, found: stored.type))
    }
    try delete(id)
    return stored != nil
  }
}

extension Database {
  /// Saves the record of a value in a transaction of its own, and gives the value its new system fields, so that it can be changed
  /// and saved again. A value that keeps none, and has no files, stays as it is.
  ///
  /// ```swift
  /// try database.save(&movie)
  /// movie.year = 2021
  /// try database.save(&movie)                     // no conflict with the save before
  /// ```
  /// A value whose files became assets is then what a fetch would give: its file URLs lead to what is stored, and what was saved
  /// from a temporary file can be saved again when that is gone. See ``Daybook/Transaction/save(_:in:policy:options:)-(inout_T,_,_,_)``.
  /// - Throws: ``RecordCodingError``, or what saving a record throws.
  @discardableResult
  public func save<T: RecordCodable>(
    _ value: inout T, in zone: Zone.ID = .default, policy: SavePolicy? = nil,
    options: RecordCodingOptions = .init(),
    origin: Origin? = nil
  ) throws -> Record {
    let ready = try ReadyValues([value], in: zone, policy, options)
    let saved = try ready.save(in: self, origin)
    ready.refresh(&value, 0, saved[0])
    return saved[0]
  }

  /// The same off the caller's thread. A property of an actor cannot be passed: `movie = try await database.save(movie)`.
  @discardableResult
  public func save<T: RecordCodable>(
    _ value: inout T, in zone: Zone.ID = .default, policy: SavePolicy? = nil,
    options: RecordCodingOptions = .init(),
    origin: Origin? = nil
  ) async throws -> Record {
    let ready = try ReadyValues([value], in: zone, policy, options)
    let saved = try await ready.save(in: self, origin)
    ready.refresh(&value, 0, saved[0])
    return saved[0]
  }

  /// Saves the records of values in one transaction, all of them or none, in whatever order they refer to each other, and gives
  /// each value its new system fields, as saving one in place does.
  @discardableResult
  public func save<T: RecordCodable>(
    _ values: inout [T], in zone: Zone.ID = .default, policy: SavePolicy? = nil,
    options: RecordCodingOptions = .init(),
    origin: Origin? = nil
  ) throws -> [Record] {
    let ready = try ReadyValues(values, in: zone, policy, options)
    let saved = try ready.save(in: self, origin)
    ready.refresh(&values, saved)
    return saved
  }

  /// The same off the caller's thread.
  @discardableResult
  public func save<T: RecordCodable>(
    _ values: inout [T], in zone: Zone.ID = .default, policy: SavePolicy? = nil,
    options: RecordCodingOptions = .init(),
    origin: Origin? = nil
  ) async throws -> [Record] {
    let ready = try ReadyValues(values, in: zone, policy, options)
    let saved = try await ready.save(in: self, origin)
    ready.refresh(&values, saved)
    return saved
  }

  /// Reads a value, changes it and saves it, in one transaction: nobody else's change comes between, so there is no conflict to
  /// resolve. Returns what was stored; fields that the type does not know stay as they are.
  ///
  /// ```swift
  /// try database.update(Movie.self, "dune") { movie in movie.year = 2021 }
  /// ```
  /// A record keeps its name: where the value has it from a property, such as `id`, that must stay as it is.
  /// - Throws: what `change` throws; `unknownItem` when there is no such record; ``RecordCodingError``, with `invalidIdentity` for a
  ///   value that has got another record's name; what saving throws.
  @discardableResult
  public func update<T: RecordCodable>(
    _ type: T.Type, _ name: some RecordNameConvertible, in zone: Zone.ID = .default,
    options: RecordCodingOptions = .init(),
    origin: Origin? = nil, _ change: (inout T) throws -> Void
  ) throws -> T {
    try write(origin: origin) { transaction in
      try transaction.update(type, name, in: zone, options: options, change)
    }
  }

  /// The same off the caller's thread.
  @discardableResult
  public func update<T: RecordCodable & SendableMetatype & Sendable>(
    _ type: T.Type, _ name: some RecordNameConvertible, in zone: Zone.ID = .default,
    options: RecordCodingOptions = .init(),
    origin: Origin? = nil, _ change: @escaping @Sendable (inout T) throws -> Void
  ) async throws -> T {
    let name = name.recordName
    return try await write(origin: origin) { transaction in
      try transaction.update(T.self, name, in: zone, options: options, change)
    }
  }

  /// Deletes the record of a value, and those that it owns, in a transaction of its own; deleting one that is not there is no error.
  /// See ``Daybook/Transaction/delete(_:in:)-(T,_)``.
  /// - Returns: whether there was one.
  @discardableResult
  public func delete<T: RecordEncodable>(
    _ value: T, in zone: Zone.ID = .default, origin: Origin? = nil
  ) throws -> Bool {
    let id = try RecordIdentity.storedID(of: value, in: zone)
    return try write(origin: origin) { transaction in
      try transaction.delete(id, ofType: T.recordType)
    }
  }

  /// The same off the caller's thread.
  @discardableResult
  public func delete<T: RecordEncodable>(
    _ value: T, in zone: Zone.ID = .default, origin: Origin? = nil
  ) async throws -> Bool {
    let (id, type) = (try RecordIdentity.storedID(of: value, in: zone), T.recordType)
    return try await write(origin: origin) { transaction in try transaction.delete(id, ofType: type)
    }
  }

  /// Deletes the records of values, and those that they own, in one transaction: all of them or none.
  public func delete<T: RecordEncodable>(
    _ values: [T], in zone: Zone.ID = .default, origin: Origin? = nil
  ) throws {
    let ids = try values.map { try RecordIdentity.storedID(of: $0, in: zone) }
    try write(origin: origin) { transaction in
      for id in ids { _ = try transaction.delete(id, ofType: T.recordType) }
    }
  }

  /// The same off the caller's thread.
  public func delete<T: RecordEncodable>(
    _ values: [T], in zone: Zone.ID = .default, origin: Origin? = nil
  ) async throws {
    let (ids, type) = (
      try values.map { try RecordIdentity.storedID(of: $0, in: zone) }, T.recordType
    )
    try await write(origin: origin) { transaction in
      for id in ids { _ = try transaction.delete(id, ofType: type) }
    }
  }

  /// Deletes the value with this name, and the records that it owns, in a transaction of its own; deleting one that is not there is
  /// no error. A record of another type stays: see ``Daybook/Transaction/delete(_:_:in:)``.
  ///
  /// ```swift
  /// try database.delete(Movie.self, "dune")
  /// ```
  /// - Returns: whether there was one.
  @discardableResult
  public func delete<T: RecordDecodable>(
    _ type: T.Type, _ name: some RecordNameConvertible, in zone: Zone.ID = .default,
    origin: Origin? = nil
  ) throws -> Bool {
    let id = try Record.ID(existing: name.recordName, in: zone)
    return try write(origin: origin) { transaction in
      try transaction.delete(id, ofType: T.recordType)
    }
  }

  /// The same off the caller's thread.
  @discardableResult
  public func delete<T: RecordDecodable>(
    _ type: T.Type, _ name: some RecordNameConvertible, in zone: Zone.ID = .default,
    origin: Origin? = nil
  ) async throws -> Bool {
    let (id, type) = (try Record.ID(existing: name.recordName, in: zone), T.recordType)
    return try await write(origin: origin) { transaction in try transaction.delete(id, ofType: type)
    }
  }
}
