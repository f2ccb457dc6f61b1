/// What separates the cells of CSV: a comma, or what spreadsheets write in its place where a comma is the decimal point.
struct Delimiter: Equatable {
  let byte: UInt8
  /// Whether an option or the input names it; else it is what is usual.
  var isNamed = false

  static let comma = Delimiter(byte: UInt8(ascii: ","))
  static let semicolon = Delimiter(byte: UInt8(ascii: ";"))
  static let tab = Delimiter(byte: 0x09)

  private init(byte: UInt8) { self.byte = byte }

  /// That of a first line such as `sep=;`; nil for what is no boundary.
  init?(named byte: UInt8) {
    guard Self.isBoundary(byte) else { return nil }
    self.byte = byte
    isNamed = true
  }

  /// A control character but the tab, a quote, a digit or a letter would be none.
  private static func isBoundary(_ byte: UInt8) -> Bool {
    let isLetter = (byte | 0x20) &- UInt8(ascii: "a") < 26
    return byte == 0x09 || byte > 0x20 && byte < 0x7F && byte != 0x22 && !isLetter && byte &- 0x30 >= 10
  }

  /// As an argument names it.
  init(argument: String) throws(ToolError) {
    if argument.isWord("comma") {
      self = .comma
    } else if argument.isWord("semicolon") {
      self = .semicolon
    } else if argument.isWord("tab", "\\t") {
      self = .tab
    } else {
      guard argument.utf8.count == 1, let byte = argument.utf8.first, Self.isBoundary(byte) else {
        throw .usage("--delimiter needs comma, semicolon, tab, or one character such as '|'.")
      }
      self.byte = byte
    }
    isNamed = true
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

  /// For messages, and as an argument has it in a shell.
  var name: String {
    switch byte {
    case Self.comma.byte: "comma"
    case Self.semicolon.byte: "semicolon"
    case Self.tab.byte: "tab"
    default: "'\(UnicodeScalar(byte))'"
    }
  }

  /// What tables are mostly split at otherwise.
  var alternatives: [Delimiter] {
    [Self.semicolon, Self.tab, Delimiter(byte: UInt8(ascii: "|")), Self.comma].filter { $0.byte != byte }
  }

  /// What the only cell of a header may have been meant to be split at.
  func alternatives(in header: String) -> [Delimiter] { alternatives.filter { header.utf8.contains($0.byte) } }

  /// The same, whatever the input says.
  var asNamed: Delimiter {
    var named = self
    named.isNamed = true
    return named
  }
}
