import DaybookEngine

/// Where a closure has lost the type of its error: a public `write` takes closures that throw anything.
extension DatabaseError {
  /// Runs work of the library's own that throws this library's errors, though its type does not say so.
  @inline(__always)
  static func only<R>(_ body: () throws -> R) throws(DatabaseError) -> R {
    do { return try body() } catch { throw DatabaseError(untyped: error) }
  }

  /// Any error as one of this library's: one of its own as it is, of the disk as such, and everything else as `internalError`.
  init(untyped error: any Error) {
    if let error = error as? DatabaseError {
      self = error
    } else if let failure = error as? DiskFailure {
      self.init(failure)
    } else {
      self.init(.internalError, cause: error)
    }
  }
}
