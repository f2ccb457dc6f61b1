import Daybook

/// Values that are changed where they are stored, and values that stay one with their records.

extension Transaction {
  /// Saves the record of a value, and gives the value its new system fields, so that it can be changed and saved again.
  ///
  /// A value that keeps none stays as it is. Where the transaction fails, the value has system fields of a version that was never
  /// stored: its next save is refused. Save a copy where that may happen.
  /// - Parameters:
  ///   - zone: that of a new record; a value with system fields stays in its own.
  ///   - policy: as ``save(_:in:policy:options:)`` has it.
  /// - Throws: ``RecordCodingError``, or what saving a record throws.
  @discardableResult
  public func save<T: RecordCodable>(
    _ value: inout T, in zone: Zone.ID = .default, policy: SavePolicy? = nil, options: RecordCodingOptions = .init()
  ) throws -> Record {
    let saved = try save(value, in: zone, policy: policy, options: options)
    value.systemFields = saved.systemFields
    return saved
  }

  /// Reads a value, changes it and saves it; returns what was stored. Fields that the type does not know stay as they are.
  ///
  /// The record keeps its name, whatever happens to the property that the value has its name from.
  /// - Throws: what `change` throws; `unknownItem` when there is no such record; ``RecordCodingError``; what saving throws.
  @discardableResult
  public func update<T: RecordCodable>(
    _ type: T.Type, _ name: String, in zone: Zone.ID = .default, options: RecordCodingOptions = .init(),
    _ change: (inout T) throws -> Void
  ) throws -> T {
    let decoder = RecordDecoder(options: options)
    let stored = try update(try Record.ID(existing: name, in: zone)) { record in
      var value = try decoder.decode(type, from: record)
      try change(&value)
      record = try RecordEncoder(zone: zone, options: options).encode(value, onto: record)
    }
    return try decoder.decode(type, from: stored)
  }
}

extension Database {
  /// Saves the record of a value in a transaction of its own, and gives the value its new system fields, so that it can be changed
  /// and saved again. A value that keeps none stays as it is.
  ///
  /// ```swift
  /// try database.save(&movie)
  /// movie.year = 2021
  /// try database.save(&movie)                     // no conflict with the save before
  /// ```
  /// - Throws: ``RecordCodingError``, or what saving a record throws.
  @discardableResult
  public func save<T: RecordCodable>(
    _ value: inout T, in zone: Zone.ID = .default, policy: SavePolicy? = nil, options: RecordCodingOptions = .init()
  ) throws -> Record {
    let saved = try save(value, in: zone, policy: policy, options: options)
    value.systemFields = saved.systemFields
    return saved
  }

  /// The same off the caller's thread.
  @discardableResult
  public func save<T: RecordCodable>(
    _ value: inout T, in zone: Zone.ID = .default, policy: SavePolicy? = nil, options: RecordCodingOptions = .init()
  ) async throws -> Record {
    let saved = try await save(value, in: zone, policy: policy, options: options)
    value.systemFields = saved.systemFields
    return saved
  }

  /// Reads a value, changes it and saves it, in one transaction: nobody else's change comes between, so there is no conflict to
  /// resolve. Returns what was stored; fields that the type does not know stay as they are.
  ///
  /// ```swift
  /// try database.update(Movie.self, "dune") { movie in movie.year = 2021 }
  /// ```
  /// - Throws: what `change` throws; `unknownItem` when there is no such record; ``RecordCodingError``; what saving throws.
  @discardableResult
  public func update<T: RecordCodable>(
    _ type: T.Type, _ name: String, in zone: Zone.ID = .default, options: RecordCodingOptions = .init(),
    _ change: (inout T) throws -> Void
  ) throws -> T {
    try write { transaction in try transaction.update(type, name, in: zone, options: options, change) }
  }

  /// The same off the caller's thread.
  @discardableResult
  public func update<T: RecordCodable & SendableMetatype & Sendable>(
    _ type: T.Type, _ name: String, in zone: Zone.ID = .default, options: RecordCodingOptions = .init(),
    _ change: @escaping @Sendable (inout T) throws -> Void
  ) async throws -> T {
    try await write { transaction in try transaction.update(T.self, name, in: zone, options: options, change) }
  }
}
