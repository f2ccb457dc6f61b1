#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// What people look for on a record under the names that CloudKit has.

extension Record {
  /// When the record was first saved; nil before.
  public var creationDate: Date? { metadata?.creationDate }

  /// When the stored version was saved; nil before the first save. A change that is not saved yet leaves it alone.
  public var modificationDate: Date? { metadata?.modificationDate }

  /// The tag of the stored version, compared for equality only; nil before the first save.
  public var changeTag: String? { metadata?.changeTag }
}

extension Record {
  /// Not there: for a list of several kinds the compiler would give up without a reason. A list has one kind.
  @_disfavoredOverload
  @available(
    *, unavailable,
    message: "a list holds values of one kind, as [\"a\", \"b\"] or [1, 2]; an empty one says which, as .strings([])"
  )
  public subscript(key: String) -> [Any]? {
    get { nil }
    set {}
  }

  /// Not there: a dictionary is no value. Each of its entries can be a key of the record, or all of it text or bytes.
  @_disfavoredOverload
  @available(
    *, unavailable, message: "a dictionary is no value of a record; use a key for each entry, or encode it as Data"
  )
  public subscript(key: String) -> [String: Any]? {
    get { nil }
    set {}
  }
}
