import Daybook

/// Values saved and returned as they are stored, for places where no value can be changed: a property of an actor, a constant.
///
/// ```swift
/// actor Library {
///   var movie: Movie
///   func rename(_ title: String) async throws {
///     movie.title = title
///     movie = try await database.save(movie)           // save(&movie) does not compile here
///   }
/// }
/// ```
/// Which `save` is meant tells the type of what takes the result: without one it is that which returns records.
extension Database {
  /// Saves the record of a value in a transaction of its own, and returns the value with its new system fields, as ``save(_:in:policy:options:origin:)-(inout_T,_,_,_,_)``
  /// leaves it.
  /// - Throws: ``RecordCodingError``, or what saving a record throws.
  @_disfavoredOverload
  public func save<T: RecordCodable>(
    _ value: T, in zone: Zone.ID = .default, policy: SavePolicy? = nil, options: RecordCodingOptions = .init(),
    origin: Origin? = nil
  ) throws -> T {
    var stored = value
    try save(&stored, in: zone, policy: policy, options: options, origin: origin)
    return stored
  }

  /// The same off the caller's thread.
  @_disfavoredOverload
  public func save<T: RecordCodable>(
    _ value: T, in zone: Zone.ID = .default, policy: SavePolicy? = nil, options: RecordCodingOptions = .init(),
    origin: Origin? = nil
  ) async throws -> T {
    var stored = value
    try await save(&stored, in: zone, policy: policy, options: options, origin: origin)
    return stored
  }

  /// Saves the records of values in one transaction, all of them or none, and returns the values with their new system fields.
  @_disfavoredOverload
  public func save<T: RecordCodable>(
    _ values: [T], in zone: Zone.ID = .default, policy: SavePolicy? = nil, options: RecordCodingOptions = .init(),
    origin: Origin? = nil
  ) throws -> [T] {
    var stored = values
    try save(&stored, in: zone, policy: policy, options: options, origin: origin)
    return stored
  }

  /// The same off the caller's thread.
  @_disfavoredOverload
  public func save<T: RecordCodable>(
    _ values: [T], in zone: Zone.ID = .default, policy: SavePolicy? = nil, options: RecordCodingOptions = .init(),
    origin: Origin? = nil
  ) async throws -> [T] {
    var stored = values
    try await save(&stored, in: zone, policy: policy, options: options, origin: origin)
    return stored
  }
}
