import Daybook

/// How the bytes of an input are text: UTF-8, with a byte order mark or without.
enum InputEncoding {
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
