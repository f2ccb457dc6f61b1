#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine

/// Content that does not count towards the size of its record: a picture, a document. Named by its SHA-256.
///
/// An asset is made from a file or from bytes. Nothing is read before the record is saved, or before
/// ``Database/prepare(_:)-(Asset)`` is called; then the content is read once, and the asset has its ``sha256``. Name and
/// attributes of the file are not kept. How large an asset may be is up to the database: ``Limits/assetByteCount``.
///
/// A small one is stored in the record (``Database/Options/inlineAssetByteCount``); a larger one in a file of the database,
/// once for all records that have the same bytes. ``content()`` reads either, ``readContent(_:)`` piece by piece; both say so
/// when the bytes are not those that were saved. ``fileURL`` is a copy for other programs.
///
/// Two assets are equal when they are known to have the same bytes: the same SHA-256 once saved; before that, the same
/// bytes, or the same unchanged file.
public struct Asset: Sendable {
  /// Where the content is.
  enum Source: Sendable {
    /// In a file of the caller, as it was when the asset was made.
    case file(URL, SourceState)
    /// In memory.
    case memory(Data)
    /// Somewhere else, known by its SHA-256; the URL is nil when no file has it.
    case elsewhere(URL?)
    /// Among the files of a database.
    case stored(AssetLibrary)
    /// Among the files of a database that no record refers to yet; kept there as long as the asset lives.
    case held(AssetHold)
  }

  /// One object, so that an asset in a record is as wide as a pointer.
  final class Storage: Sendable {
    let digest: [UInt8]?
    let byteCount: Int
    let source: Source

    init(digest: [UInt8]?, byteCount: Int, source: Source) {
      self.digest = digest
      self.byteCount = byteCount
      self.source = source
    }
  }

  let storage: Storage

  init(digest: [UInt8]?, byteCount: Int, source: Source) {
    storage = Storage(digest: digest, byteCount: byteCount, source: source)
  }

  /// An asset whose content is in a file. The file must stay as it is until the record has been saved: one that changed is
  /// refused then with `assetFileModified`, and with `limitExceeded` when it has grown beyond ``Limits/assetByteCount``.
  /// Another file that has taken its name is refused, too, whatever is in it: programs that save atomically, as most editors
  /// and `Data.write(to:options:)` with `.atomic` do, put a new file there.
  ///
  /// - Throws: `invalidArguments` when the URL is no file URL or what is there is no regular file,
  ///   `assetFileNotFound` when nothing is there.
  public init(fileURL: URL) throws(DatabaseError) {
    guard fileURL.isFileURL else {
      throw DatabaseError(.invalidArguments, "An asset is made from a file URL.")
    }
    self.init(fileURL: fileURL, try Self.state(of: fileURL))
  }

  private init(fileURL: URL, _ state: SourceState) {
    self.init(digest: nil, byteCount: state.byteCount, source: .file(fileURL, state))
  }

  /// The same for a file that must lie below a folder, reached from there without links. Whatever else its name leads to when
  /// it is read is refused.
  ///
  /// - Parameters:
  ///   - fileURL: its path, without links.
  ///   - folder: the folder.
  package init(fileURL: URL, below folder: SourceFolder) throws(DatabaseError) {
    let (path, root) = (fileURL.path, folder.path == "/" ? "" : folder.path)
    let isBelow = path.utf8.starts(with: root.utf8) && path.utf8.dropFirst(root.utf8.count).first == UInt8(ascii: "/")
    // The path of a file that is missing may have links in it.
    guard isBelow || path == root else { throw DatabaseError(.assetFileNotFound, facts: .init(path: path)) }
    let names = path.utf8.dropFirst(root.utf8.count).split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }
    do { self.init(fileURL: fileURL, try folder.state(of: names)) } catch {
      throw Self.cannotBeRead(path, error)
    }
  }

  /// An asset whose content is in memory.
  public init(data: Data) {
    self.init(digest: nil, byteCount: data.count, source: .memory(data))
  }

  /// The content's SHA-256 as 64 hexadecimal digits; nil until the record was saved.
  public var sha256: String? {
    guard let digest = storage.digest else { return nil }
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: digest.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }

  /// The size of the content in bytes.
  public var byteCount: Int { storage.byteCount }

  /// A file with the content, when there is one.
  ///
  /// Before the record is saved, the file that the asset was made from: it must stay as it is until then. Of an asset that
  /// was read, a copy of the stored content, made and verified when it is first asked for, once for each content and open
  /// database: on file systems that share blocks (APFS, Btrfs, XFS) it costs no more than reading the content, elsewhere a
  /// whole copy. Whatever happens to that copy, the stored content stays as it is. It lies beside the database, or in
  /// the system's temporary folder if that is read-only, and stays at least until the database is closed; a later collection removes it. Nil for a
  /// content that lies in the record or is being held, see ``data`` and ``content()``, and when the copy cannot be made:
  /// ``Database/asset(_:of:at:)`` says why.
  public var fileURL: URL? {
    switch storage.source {
    case .file(let url, _): url
    case .elsewhere(let url): url
    case .stored(let library):
      storage.digest.flatMap { digest in try? library.fileURL(of: AssetDigest(digest), byteCount: byteCount) }
    case .memory, .held: nil
    }
  }

  /// The content, when it is in memory: an asset made from data, or a small one that is stored in its record.
  public var data: Data? {
    if case .memory(let data) = storage.source { data } else { nil }
  }

  static func state(of url: URL) throws(DatabaseError) -> SourceState {
    // Through links, because the content is what counts.
    let path = url.resolvingSymlinksInPath().path
    do { return try SystemDisk.sourceState(of: path) } catch { throw cannotBeRead(path, error) }
  }

  private static func cannotBeRead(_ path: String, _ failure: DiskFailure) -> DatabaseError {
    if failure.kind == .notRegular {
      return DatabaseError(
        .invalidArguments, "An asset is made from a regular file.", facts: .init(path: path), cause: failure)
    }
    return DatabaseError(.assetFileNotFound, facts: .init(path: path), cause: failure)
  }
}

extension Asset {
  /// An asset as the database keeps it.
  ///
  /// - Parameters:
  ///   - digest: the 32 bytes of its SHA-256.
  ///   - content: the content, when it is small enough to lie in the record.
  package init(digest: [UInt8], byteCount: Int, content: Data? = nil, fileURL: URL? = nil) {
    precondition(digest.count == 32, "a SHA-256 has 32 bytes")
    self.init(digest: digest, byteCount: byteCount, source: content.map { .memory($0) } ?? .elsewhere(fileURL))
  }

  /// The same asset of a file, which counts only if its content has this SHA-256.
  package func claiming(_ digest: [UInt8]) -> Asset {
    precondition(digest.count == 32, "a SHA-256 has 32 bytes")
    return Asset(digest: digest, byteCount: byteCount, source: storage.source)
  }

  /// The 32 bytes of the SHA-256; nil until saved.
  package var digest: [UInt8]? { storage.digest }

  /// Whether the content has its name: saved already, or about to be.
  package var isStored: Bool { storage.digest != nil }

  /// Whether a file has this stored content: the copy that was handed out of it, as it was then, or one of a content that lies in the record, and
  /// is small enough to be compared.
  package func isContent(of file: Asset) -> Bool {
    guard case .file(let url, let state) = file.storage.source, byteCount == file.byteCount, let digest = storage.digest else {
      return false
    }
    switch storage.source {
    case .stored(let library): return library.hasHandedOut(AssetDigest(digest), url.path, state)
    case .memory(let data): return (try? file.content()) == data
    case .file, .elsewhere, .held: return false
    }
  }

  /// Checks that the file is still what it was when the asset was made; other assets always are.
  ///
  /// - Throws: `assetFileNotFound` or `assetFileModified`.
  package func validateUnmodified() throws(DatabaseError) {
    guard case .file(let url, let known) = storage.source else { return }
    let state: SourceState
    do { state = try Self.state(of: url) } catch {
      if error.code == .assetFileNotFound { throw error }
      // Something else than a file is there now.
      throw DatabaseError(.assetFileModified, facts: .init(path: url.path), cause: error)
    }
    guard state == known || isMutant("accept-other-source") else {
      throw DatabaseError(
        .assetFileModified, facts: .init(path: url.path, size: state.byteCount, limit: nil))
    }
  }
}

extension Asset: Hashable {
  /// Whether both are known to hold the same content.
  public static func == (first: Asset, second: Asset) -> Bool {
    if first.storage === second.storage { return true }
    guard first.byteCount == second.byteCount else { return false }
    switch (first.storage.digest, second.storage.digest) {
    case (let a?, let b?): return a == b
    case (nil, nil):
      switch (first.storage.source, second.storage.source) {
      case (.memory(let a), .memory(let b)): return a == b
      case (.file(let a, let state), .file(let b, let other)): return a == b && state == other
      default: return false
      }
    default: return false
    }
  }

  /// Hashes the size and, once saved, the SHA-256.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(byteCount)
    hasher.combine(storage.digest)
  }
}

extension Asset: Codable {
  private enum CodingKeys: String, CodingKey { case sha256, byteCount, data, fileURL }

  /// Set to `true` in a decoder's `userInfo`, assets that are decoded may refer to files of this machine.
  ///
  /// Else they refer to none: the author of the decoded data would choose which file is read, and saved, with the record. An
  /// asset with a SHA-256 then keeps that and its size, and has no content; one with a file alone is refused. Set this
  /// for what this machine has encoded itself.
  ///
  /// ```swift
  /// let decoder = JSONDecoder()
  /// decoder.userInfo[Asset.decodesFileURLs] = true
  /// ```
  public static var decodesFileURLs: CodingUserInfoKey {
    // Never nil: the initialiser can fail only because its protocol lets it.
    CodingUserInfoKey(rawValue: "daybook.asset.decodesFileURLs")!
  }

  /// Decodes what `encode` wrote; of files only their SHA-256 and size, unless ``decodesFileURLs`` is set.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let data = try container.decodeIfPresent(Data.self, forKey: .data)
    let url = try Self.fileURL(container, decoder.userInfo)
    guard let text = try container.decodeIfPresent(String.self, forKey: .sha256) else {
      if let data {
        self.init(data: data)
      } else if let url {
        try self.init(fileURL: url)
      } else {
        throw DecodingError.dataCorruptedError(
          forKey: .sha256, in: container, debugDescription: "An asset needs a SHA-256, data, or a file that may be named.")
      }
      return
    }
    let byteCount = try container.decode(Int.self, forKey: .byteCount)
    guard let digest = Self.digest(ofHexadecimal: text), byteCount >= 0, data == nil || data?.count == byteCount else {
      throw DecodingError.dataCorruptedError(
        forKey: .sha256, in: container, debugDescription: "A SHA-256 has 64 hexadecimal digits.")
    }
    self.init(digest: digest, byteCount: byteCount, content: data, fileURL: url)
  }

  private static func fileURL(
    _ container: KeyedDecodingContainer<CodingKeys>, _ userInfo: [CodingUserInfoKey: Any]
  ) throws -> URL? {
    guard userInfo[decodesFileURLs] as? Bool == true else { return nil }
    guard let url = try container.decodeIfPresent(URL.self, forKey: .fileURL) else { return nil }
    guard url.isFileURL else {
      throw DecodingError.dataCorruptedError(
        forKey: .fileURL, in: container, debugDescription: "An asset is made from a file URL.")
    }
    return url
  }

  /// Encodes digest and size, the content when it is in memory, else the file's URL, which for an asset of a database makes
  /// the copy that ``fileURL`` speaks of. Reading the URL back takes ``decodesFileURLs``.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encodeIfPresent(sha256, forKey: .sha256)
    try container.encode(byteCount, forKey: .byteCount)
    try container.encodeIfPresent(data, forKey: .data)
    try container.encodeIfPresent(fileURL, forKey: .fileURL)
  }

  /// The bytes of 64 hexadecimal digits, or nil.
  package static func digest(ofHexadecimal text: String) -> [UInt8]? {
    let digits = Array(text.utf8)
    guard digits.count == 64 else { return nil }
    var bytes: [UInt8] = []
    for index in stride(from: 0, to: 64, by: 2) {
      guard let high = Character(UnicodeScalar(digits[index])).hexDigitValue,
        let low = Character(UnicodeScalar(digits[index + 1])).hexDigitValue
      else { return nil }
      bytes.append(UInt8(high << 4 | low))
    }
    return bytes
  }
}
