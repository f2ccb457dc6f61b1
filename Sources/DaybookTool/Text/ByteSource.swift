import Daybook
import DaybookEngine

/// Bytes of a file or of memory, handed out piece by piece, so that an input of any length is read in constant memory.
final class ByteSource {
  private enum Origin {
    case file(any DiskFile, ByteBuffer)
    case memory([UInt8])
  }

  private let origin: Origin
  private let pieceByteCount: Int
  /// How long the whole is, where that is known.
  let byteCount: Int
  /// How much has been handed out.
  private(set) var offset = 0

  /// A file from its beginning, however far others have read it.
  init(_ file: any DiskFile, pieceByteCount: Int = 1 << 18) {
    origin = .file(file, ByteBuffer(capacity: pieceByteCount))
    self.pieceByteCount = pieceByteCount
    byteCount = (try? file.byteCount()) ?? 0
  }

  /// For tests: small pieces put every boundary to the test.
  init(_ bytes: [UInt8], pieceByteCount: Int = 1 << 18) {
    origin = .memory(bytes)
    self.pieceByteCount = pieceByteCount
    byteCount = bytes.count
  }

  /// Appends the next piece; false at the end.
  func read(into buffer: inout [UInt8]) throws(ToolError) -> Bool {
    switch origin {
    case .memory(let bytes):
      let upper = min(bytes.count, offset + pieceByteCount)
      if offset == upper { return false }
      buffer.append(contentsOf: bytes[offset..<upper])
      offset = upper
      return true
    case .file(let file, let piece):
      // Safe: the buffer was made for this many bytes.
      do { piece.count = try unsafe file.read(into: piece.base, count: piece.capacity, at: offset) } catch {
        throw ToolError(.inputOutput, "Reading \(file.path) failed.", advice: "\(error)")
      }
      buffer.append(contentsOf: piece.view.array)
      offset += piece.count
      return piece.count > 0
    }
  }
}
