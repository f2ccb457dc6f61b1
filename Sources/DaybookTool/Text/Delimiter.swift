/// What separates the cells of CSV: a comma, or what spreadsheets write in its place where a comma is the decimal point.
struct Delimiter: Equatable {
  let byte: UInt8

  static let comma = Delimiter(byte: UInt8(ascii: ","))
  static let semicolon = Delimiter(byte: UInt8(ascii: ";"))
  static let tab = Delimiter(byte: 0x09)

  private init(byte: UInt8) { self.byte = byte }

  /// As an argument names it.
  init(argument: String) throws(ToolError) {
    if argument.isWord("comma") {
      self = .comma
    } else if argument.isWord("semicolon") {
      self = .semicolon
    } else if argument.isWord("tab", "\\t") {
      self = .tab
    } else {
      // A control character but the tab, a quote, a digit or a letter would be no boundary.
      guard argument.utf8.count == 1, let byte = argument.utf8.first,
        byte == 0x09 || byte > 0x20 && byte < 0x7F && byte != 0x22 && !argument.allSatisfy({ $0.isLetter || $0.isNumber })
      else {
        throw .usage("--delimiter needs comma, semicolon, tab, or one character such as '|'.")
      }
      self.byte = byte
    }
  }

  /// What an option says; else tabs for a name that ends in .tsv, and commas.
  init(_ arguments: Arguments, name: String?) throws(ToolError) {
    if let text = arguments.value("--delimiter") {
      try self.init(argument: text)
    } else {
      self = name?.hasEnding(".tsv") == true ? .tab : .comma
    }
  }

  static let option = Command.Option.value(
    "--delimiter", "CHAR", "In csv, what separates the cells: comma, semicolon, tab or a character; tab for .tsv, else comma.")

  /// What the only cell of a header may have been meant to be split at; nil when there is nothing of the kind in it.
  static func likely(in header: String) -> String? {
    for (name, byte) in [("semicolon", UInt8(ascii: ";")), ("tab", 0x09), ("'|'", UInt8(ascii: "|"))]
    where header.utf8.contains(byte) { return name }
    return nil
  }
}
