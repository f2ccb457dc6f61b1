#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine

/// Reading an asset's content, and naming it by its SHA-256.
///
/// A file is looked at before and after it is read, and one byte more is asked for than it should have: content that
/// changed since the asset was made, or while it was read, is noticed and refused.
extension Asset {
  /// The asset with its content in memory and its SHA-256 computed from it.
  ///
  /// - Throws: `limitExceeded` when it has more bytes, `assetFileNotFound`, `assetFileModified`; `assetNotAvailable` when
  ///   only its SHA-256 is known, `invalidArguments` when that is not the content's.
  package func withContent(ofAtMost limit: Int) throws(DatabaseError) -> Asset {
    if byteCount > limit {
      throw DatabaseError(
        .limitExceeded, "An asset is too large to be stored in its record.",
        facts: .init(path: fileURL?.path, size: byteCount, limit: limit))
    }
    switch storage.source {
    case .memory(let data):
      // Safe: the view is read before the closure returns.
      let computed = unsafe data.withUnsafeBytes { SHA256.digest(of: unsafe ByteView($0)) }
      // One that was decoded may say anything of itself.
      if let digest, digest != computed {
        throw DatabaseError(.invalidArguments, "The content of an asset is not what its SHA-256 says.")
      }
      return Asset(digest: computed, byteCount: data.count, content: data)
    case .file(let url, _):
      try validateUnmodified()
      let content = try read(url)
      try validateUnmodified()
      return content
    case .stored:
      throw DatabaseError(.assetNotAvailable)
    }
  }

  private func read(_ url: URL) throws(DatabaseError) -> Asset {
    let buffer = ByteBuffer(capacity: byteCount + 1)
    do throws(DiskFailure) {
      let file = try SystemDisk().open(url.path, .readOnly)
      defer { file.close() }
      // Safe: the buffer was made for this many bytes.
      buffer.count = try unsafe file.read(into: buffer.base, count: byteCount + 1, at: 0)
    } catch {
      throw DatabaseError(
        .assetFileNotFound, "The file of the asset cannot be read.", facts: .init(path: url.path), cause: error)
    }
    guard buffer.count == byteCount else {
      throw DatabaseError(.assetFileModified, facts: .init(path: url.path, size: buffer.count))
    }
    // Safe: Data copies the bytes of the buffer.
    let data = unsafe Data(buffer.view.buffer)
    return Asset(digest: SHA256.digest(of: buffer.view), byteCount: byteCount, content: data)
  }
}
