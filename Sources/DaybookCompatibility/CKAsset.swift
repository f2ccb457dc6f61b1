#if !canImport(CloudKit)
  import Daybook
  import Foundation

  import class DaybookEngine.Locked

  /// A file that belongs to a record and does not count towards its size.
  ///
  /// Nothing is read before the record is saved. Anything but a file URL is refused then, with `invalidArguments`; CloudKit ends
  /// the program.
  public final class CKAsset: NSObject, NSSecureCoding, Sendable {
    private enum Source {
      case file(URL)
      case asset(Asset)
      /// A file that is not in the archive that the asset comes from.
      case missing
    }

    private let source: Source
    /// Where the content of an asset that lies in its record was written, once a file was asked for.
    private let staged = Locked<URL?>(nil)

    /// An asset whose content is in a file, which must stay as it is until the record has been saved.
    public init(fileURL: URL) { source = .file(fileURL) }

    /// A Daybook asset.
    public init(_ asset: Asset) { source = .asset(asset) }

    /// A file with the content: before the save the one that the asset was made from, of an asset that was fetched a copy. Nil
    /// when the content is not here.
    public var fileURL: URL? {
      switch source {
      case .file(let url): url
      case .asset(let asset): asset.fileURL ?? stage(asset)
      case .missing: nil
      }
    }

    /// The content of an asset that has no file, in one for the owner alone: each look into a record makes another of these objects, and all
    /// of a stored content get the same file, for reading.
    private func stage(_ asset: Asset) -> URL? {
      staged.withLock { staged in
        if let known = staged, FileManager.default.fileExists(atPath: known.path) { return known }
        guard let content = try? asset.content(),
          let file = try? asset.digest.map({ try StagedFiles.sharedFile(content, $0) }) ?? StagedFiles.newFile(content)
        else { return nil }
        staged = file
        return file
      }
    }

    /// The same for Daybook: the file is looked at now.
    /// - Throws: `invalidArguments` for another URL than a file's, `assetFileNotFound`, and `assetNotAvailable` for one from an archive.
    var daybookAsset: Asset {
      get throws(DatabaseError) {
        switch source {
        case .file(let url): try Asset(fileURL: url)
        case .asset(let asset): asset
        case .missing: throw DatabaseError(.assetNotAvailable, "An archive of an asset has no file; make the asset again.")
        }
      }
    }

    /// The content, wherever it is.
    var content: Data {
      get throws(DatabaseError) { try daybookAsset.content() }
    }

    /// Whether both are the same file, or known to have the same content.
    public override func isEqual(_ object: Any?) -> Bool {
      guard let other = object as? CKAsset else { return false }
      if other === self { return true }
      return switch (source, other.source) {
      case (.file(let first), .file(let second)): first == second
      case (.asset(let first), .asset(let second)): first == second
      default: false
      }
    }

    /// Equal assets have equal ones.
    public override var hash: Int {
      switch source {
      case .file(let url): url.hashValue
      case .asset(let asset): asset.hashValue
      case .missing: ObjectIdentifier(self).hashValue
      }
    }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    /// Writes what a stored asset is known by, and nothing of a file that was never saved: the author of an archive would choose what is
    /// read and saved.
    public func encode(with coder: NSCoder) {
      guard case .asset(let asset) = source, asset.isArchivable, let data = try? JSONEncoder().encode(Record.Value.asset(asset))
      else { return }
      coder.encode(data as NSData, forKey: "daybook.asset")
    }

    /// Reads what ``encode(with:)`` wrote. Of anything else it is an asset without a file, which no record is saved with: never nil, with
    /// which Foundation's collections end the program.
    public init?(coder: NSCoder) {
      if let data = coder.bytes(forKey: "daybook.asset"),
        case .asset(let asset)? = try? JSONDecoder().decode(Record.Value.self, from: data)
      {
        source = .asset(asset)
      } else {
        source = .missing
      }
    }
  }
#endif
