#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine

/// Metadata of the library's own modules: under keys that begin with U+0000, which no application can set.
extension Transaction {
  /// Keeps bytes under a key of the library; nil removes them. Otherwise as ``setMetadata(_:forKey:)``.
  package func setLibraryMetadata(_ value: Data?, forKey key: String) throws(DatabaseError) {
    precondition(key.utf8.first == 0, "keys of the library begin with U+0000")
    try context.setMetadata(value, forKey: key)
  }
}

extension RecordReader where Self: ~Copyable {
  /// Entries of the metadata whose keys begin with a text, in the order of the keys' bytes.
  /// - Parameters:
  ///   - key: only those with a greater key; nil for the first.
  ///   - limit: at most so many.
  package func libraryMetadata(
    withPrefix prefix: String, after key: String?, limit: Int
  ) throws(DatabaseError) -> [(key: String, value: Data)] {
    try reading { (view) throws(DatabaseError) in
      var entries: [(key: String, value: Data)] = []
      for (key, place) in try view.metadataPlaces(
        withPrefix: Array(prefix.utf8), after: key.map { Array($0.utf8) }, limit: limit)
      {
        let key = String(decoding: key, as: UTF8.self)
        entries.append((key, try view.metadata(at: place, key: key)))
      }
      return entries
    }
  }

  /// What tells the database from all others; copies and backups have the same, a salvage has its own.
  package var databaseIdentity: UUID {
    get throws(DatabaseError) { try reading { (view) throws(DatabaseError) in view.databaseID } }
  }
}

extension Database {
  /// Whether this is the public database of a container.
  package var isOfPublicScope: Bool { options.role?.scope == .public }
}

extension Record {
  /// Why the first of the encrypted values that cannot be opened reads as nil; nil when all can be.
  package func encryptedValueFault() -> DatabaseError? {
    for key in keys(isEncrypted: true) {
      if let fault = body.openingFault(forKey: key) { return fault }
    }
    return nil
  }
}

extension Asset {
  /// The SHA-256 of the content: known, or computed now.
  /// - Throws: as ``content()``.
  package func contentDigest() throws(DatabaseError) -> [UInt8] {
    if let digest = storage.digest { return digest }
    var hash = SHA256()
    do { try readContent { piece in [UInt8](piece).withView { hash.update($0) } } } catch {
      throw DatabaseError(untyped: error)
    }
    return hash.finish()
  }

  /// Whether the content can be read from here: not of an asset of which only the SHA-256 is known.
  package var hasContent: Bool {
    if case .elsewhere(nil) = storage.source { false } else { true }
  }
}
