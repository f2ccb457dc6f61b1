import Daybook
import DaybookEngine

/// Arguments looked at by their bytes: an argument may be any text, and to compare two texts, or to find a character in one, Swift
/// sorts the marks of a letter, in the square of their number. And a mark behind a dash or a comma would hide it.
extension String {
  /// Whether it is one of these words.
  func isWord(_ words: String...) -> Bool { words.contains { $0.equalsBytes(of: self) } }

  /// Whether a file's name ends so, in small letters or in capitals.
  /// - Parameter ending: in small letters.
  func hasEnding(_ ending: String) -> Bool {
    utf8.suffix(ending.utf8.count).elementsEqual(ending.utf8) { byte, small in
      byte == small || byte | 0x20 == small && small >= UInt8(ascii: "a") && small <= UInt8(ascii: "z")
    }
  }

  /// What is between its commas, empty parts included.
  var commaParts: [String] {
    utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false).map { String(Substring($0)) }
  }

  /// What is before and after the first `=`.
  func splitAtEquals() -> (name: String, value: String)? { split(at: UInt8(ascii: "=")) }

  /// What is before and after the first of a sign.
  func split(at sign: UInt8) -> (name: String, value: String)? {
    guard let place = utf8.firstIndex(of: sign) else { return nil }
    return (String(self[..<place]), String(self[utf8.index(after: place)...]))
  }
}
