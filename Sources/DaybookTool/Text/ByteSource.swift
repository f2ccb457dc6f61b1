import Foundation

/// Bytes of a file or of memory, handed out piece by piece, so that an input of any length is read in constant memory.
final class ByteSource {
  private enum Origin {
    case file(FileHandle)
    case memory([UInt8])
  }

  private let origin: Origin
  private let pieceByteCount: Int
  /// How long the whole is, where that is known.
  let byteCount: Int
  /// How much has been handed out.
  private(set) var offset = 0
  private let path: String

  init(path: String, pieceByteCount: Int = 1 << 18) throws(ToolError) {
    guard let file = FileHandle(forReadingAtPath: path) else {
      throw ToolError(.inputOutput, "\(path) cannot be read.", advice: "Check that it exists and that you may read it.")
    }
    origin = .file(file)
    self.path = path
    self.pieceByteCount = pieceByteCount
    byteCount = ((try? FileManager.default.attributesOfItem(atPath: path))?[.size] as? Int) ?? 0
  }

  /// For tests: small pieces put every boundary to the test.
  init(_ bytes: [UInt8], pieceByteCount: Int = 1 << 18) {
    origin = .memory(bytes)
    path = "memory"
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
    case .file(let file):
      let piece: Data?
      do { piece = try file.read(upToCount: pieceByteCount) } catch {
        throw ToolError(.inputOutput, "Reading \(path) failed.", advice: "\(error)")
      }
      guard let piece, !piece.isEmpty else { return false }
      buffer.append(contentsOf: piece)
      offset += piece.count
      return true
    }
  }
}
