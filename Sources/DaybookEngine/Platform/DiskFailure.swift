/// A disk said no. `code` is the system's errno (or the simulated one), `kind` what the engine does about it.
package struct DiskFailure: Error, Sendable, Equatable, CustomStringConvertible {
  package enum Operation: String, Sendable {
    case open, create, read, write, sync, truncate, map, lock, rename, remove, syncDirectory, status
    case link, makeDirectory, list, protect
  }
  /// `foreign`: it belongs to another user, and is left alone though it could be removed. `notUTF8`: a path that no text can hold.
  /// `nameLost`: a database's name leads to another file by now, or to none (`NamedFile`).
  package enum Kind: Sendable {
    case notFound, exists, full, permission, tooLarge, closed, notRegular, foreign, notUTF8, nameTooLong, nameLost, other
  }

  /// Whether the device has lost what is in this place, or the file system that it has. That says nothing of other files, as a lack
  /// of descriptors or rights would.
  package var isOfOnePlace: Bool { ErrorNumber.meansLostPlace(code) }

  package let operation: Operation
  package let path: String
  package let kind: Kind
  package let code: Int32
  package let offset: Int?
  package let byteCount: Int?

  package init(
    _ operation: Operation, path: String, kind: Kind, code: Int32, offset: Int? = nil, byteCount: Int? = nil
  ) {
    self.operation = operation
    self.path = path
    self.kind = kind
    self.code = code
    self.offset = offset
    self.byteCount = byteCount
  }

  package var description: String {
    var text = "\(operation.rawValue) of \(path) failed with code \(code)"
    if let offset { text += " at byte \(offset)" }
    if let byteCount { text += " for \(byteCount) bytes" }
    return text
  }
}

extension DiskFailure {
  /// Makes calls of the system for one operation on one path: the failure names both.
  @inline(__always)
  static func calling<Result>(
    _ operation: Operation, _ path: String, _ call: () throws(SystemError) -> Result
  ) throws(DiskFailure) -> Result {
    do { return try call() } catch { throw DiskFailure(operation, path: path, code: error.code) }
  }
}
