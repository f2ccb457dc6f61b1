import DaybookEngine

/// Divides a line into words, as shells do: blanks between words, quotes around blanks.
enum CommandWords {
  /// Why a line has no words.
  enum Fault: Error {
    /// A quote is opened and not closed.
    case open(Character)
    /// A backslash at the end.
    case backslash
  }

  /// Single quotes keep everything; within double quotes, and outside, a backslash keeps the next character.
  static func words(of line: String) throws(Fault) -> [String] {
    var words: [String] = []
    var word: String?
    var quote: Unicode.Scalar?
    var scalars = line.unicodeScalars.makeIterator()
    while let scalar = scalars.next() {
      switch (scalar, quote) {
      case ("\\", nil), ("\\", "\""):
        guard let next = scalars.next() else { throw .backslash }
        word = (word ?? "") + String(next)
      case ("\"", nil), ("'", nil):
        quote = scalar
        word = word ?? ""
      case (let end, let begun?) where end == begun: quote = nil
      case (" ", nil), ("\t", nil), ("\r", nil):
        if let finished = word { words.append(finished) }
        word = nil
      default:
        var text = word ?? ""
        text.unicodeScalars.append(scalar)
        word = text
      }
    }
    if let quote { throw .open(Character(quote)) }
    if let word { words.append(word) }
    return words
  }
}
