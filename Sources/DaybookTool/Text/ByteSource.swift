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

/// Looks at bytes that are to be text.
enum UTF8Check {
  /// The first byte that is not part of valid UTF-8; nil when all are.
  static func firstFault(in bytes: [UInt8], _ range: Range<Int>) -> Int? {
    var index = range.lowerBound
    while index < range.upperBound {
      let first = bytes[index]
      if first < 0x80 {
        index += 1
        continue
      }
      // The second byte's bounds keep out overlong forms, surrogates and what lies beyond U+10FFFF.
      let count: Int
      var second: ClosedRange<UInt8> = 0x80...0xBF
      switch first {
      case 0xC2...0xDF: count = 2
      case 0xE0: (count, second) = (3, 0xA0...0xBF)
      case 0xED: (count, second) = (3, 0x80...0x9F)
      case 0xE1...0xEF: count = 3
      case 0xF0: (count, second) = (4, 0x90...0xBF)
      case 0xF1...0xF3: count = 4
      case 0xF4: (count, second) = (4, 0x80...0x8F)
      default: return index
      }
      guard index + count <= range.upperBound, second.contains(bytes[index + 1]) else { return index }
      for next in index + 2..<index + max(count, 2) where bytes[next] & 0xC0 != 0x80 { return index }
      index += count
    }
    return nil
  }

  /// What the first bytes of an input say about its encoding; nil when nothing is against UTF-8.
  static func otherEncoding(of bytes: [UInt8]) -> ToolError? {
    guard bytes.count >= 2, (bytes[0] == 0xFF && bytes[1] == 0xFE) || (bytes[0] == 0xFE && bytes[1] == 0xFF) else {
      return nil
    }
    return .badRow(
      line: 1, "the input is UTF-16, not UTF-8.", advice: "Convert it first: iconv -f UTF-16 -t UTF-8 INPUT > OUTPUT")
  }

  /// The byte order mark that some programs write before UTF-8.
  static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
}
