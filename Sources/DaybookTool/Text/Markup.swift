import Daybook

/// Texts within XML and HTML.
enum Markup {
  /// A text of a database or a path as content of an element, or of an attribute in double quotes. What a terminal would take for a
  /// command is spelled out, as everywhere.
  static func escaped(_ text: String) -> String {
    var result = ""
    for scalar in ShownText.escaped(text).unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "'": result += "&#39;"
      // XML knows all other scalars but these two.
      case "\u{FFFE}", "\u{FFFF}": result += "\u{FFFD}"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  /// A text within a picture.
  static func text(_ x: Int, _ y: Int, _ text: String, size: Int) -> String {
    "<text x=\"\(x)\" y=\"\(y)\" font-size=\"\(size)\">\(escaped(text))</text>\n"
  }
}
