/// What an import is given by mistake: files that are no rows, told by their first bytes.
///
/// Without this a spreadsheet was said to have invalid UTF-8, and a page of HTML became a column of its lines.
enum ForeignInput {
  private static let binaries: [(start: [UInt8], what: String, advice: String)] = [
    (
      Array("PK".utf8) + [3, 4], "a ZIP archive, as spreadsheets are (.xlsx, .ods)",
      "Save the table as CSV in the program that made it, and import that."
    ),
    (
      [0xD0, 0xCF, 0x11, 0xE0], "an Excel file of the old form (.xls)",
      "Save the table as CSV in the program that made it, and import that."
    ),
    (
      Array("SQLite format 3\0".utf8), "a SQLite database",
      "Export a table first: sqlite3 -json INPUT 'SELECT * FROM table' | daybook import FILE -"
    ),
    (
      Array("Daybook\n".utf8), "a Daybook database",
      "Its records come over as lines: daybook dump INPUT | daybook import FILE -; `daybook backup` copies a whole database."
    ),
    ([0x1F, 0x8B], "compressed with gzip", "Unpack it: gunzip -c INPUT | daybook import FILE -"),
    (Array("%PDF-".utf8), "a PDF", "An import reads JSON, NDJSON and CSV."),
  ]
  private static let markups = ["<!doctype", "<html", "<?xml"]

  /// Why the input cannot be imported; nil when nothing is known against it.
  ///
  /// - Parameters:
  ///   - bytes: how it begins.
  ///   - hasFormat: whether an option says what it is: then text is text.
  static func fault(in bytes: [UInt8], name: String?, hasFormat: Bool) -> ToolError? {
    let name = name ?? "the input"
    for binary in binaries where bytes.starts(with: binary.start) {
      // A header of one column may be called so.
      if binary.start == Array("Daybook\n".utf8), !bytes.contains(0) { continue }
      return ToolError(.malformedInput, "\(name) is \(binary.what), not JSON or CSV.", advice: binary.advice)
    }
    if hasFormat { return nil }
    let text = bytes.starts(with: InputEncoding.byteOrderMark) ? bytes.dropFirst(3) : bytes[...]
    let start = String(decoding: text.drop { " \t\r\n".utf8.contains($0) }.prefix(16), as: UTF8.self).lowercased()
    guard markups.contains(where: { start.hasPrefix($0) }) else { return nil }
    return ToolError(
      .malformedInput, "\(name) is HTML or XML, not JSON or CSV.",
      advice: "Was a page saved in the place of the file that it links to? With --format csv its lines are rows all the same.")
  }

  /// Why a row of JSON cannot be one: other commands printed it, in forms that are no lines of a dump. Nil when nothing is known
  /// against it.
  ///
  /// As a row it would become a record with the records of the input as JSON text, under a name of its own.
  static func fault(in row: JSONValue, line: Int) -> ToolError? {
    if isChanges(row) {
      return .badRow(
        line: line, "this is what `daybook changes --json` prints, not rows.",
        advice: "Its \"saved\" are lines of a dump: give those, a line each; `daybook delete` takes what is deleted. With "
          + "--format json it is a row all the same.")
    }
    if isCloudKitLine(row) {
      return .badRow(
        line: line, "this is a record in the form of cloudkit-json, which is not read back.",
        advice: "`daybook dump` without --format prints lines that are. With --format json it is a row all the same.")
    }
    return nil
  }

  private static func isChanges(_ row: JSONValue) -> Bool {
    guard case .object(let members) = row, members.count == 4, case .array? = row["saved"], case .array? = row["deleted"],
      row["token"]?.text != nil, case .bool? = row["moreComing"]
    else { return false }
    return true
  }

  private static func isCloudKitLine(_ row: JSONValue) -> Bool {
    guard row["recordName"]?.text != nil, row["recordType"]?.text != nil, row["zoneID"]?["zoneName"]?.text != nil,
      case .object? = row["fields"]
    else { return false }
    return true
  }
}
