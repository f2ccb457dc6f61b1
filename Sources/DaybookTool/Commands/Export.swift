import Daybook

extension Commands {
  static let export = Command(
    name: "export", summary: "Write the records to a file: as dump prints them, or as CSV.",
    positionals: ["FILE", "OUT"],
    options: [
      .zone, .owner, .type, .flag("--metadata", "Add change tags, dates, users and devices; not with csv."),
      .value("--format", "FORMAT", "How to write.", choices: ExportFormat.allCases.map(\.rawValue)),
      .value("--assets", "DIR", "Also write the contents of assets into a directory, each once, named by its SHA-256."),
      .value("--keys", "KEY,KEY…", "In csv only these keys, in this order."),
      .flag("--no-formulas", "In csv put ' before what a spreadsheet would take for a formula."),
      Delimiter.option,
      .flag("--force", "Replace a file that is there and has content."),
    ],
    details: """
      OUT is - for standard output. The format is csv for a name that ends in .csv or .tsv, else ndjson.
      A type or key that no record has is told on standard error.
      A file that is there and has content stays as it is, and nothing is written, unless --force says otherwise. It stays with
      --force, too, where the database is damaged and the new one would be incomplete; the status is then 3.
      A file is made beside OUT and takes its name, and the place of a file that had it, when all is written; what may be
      done with it is what may be done with FILE, less what the mask and a file that it replaces forbid. A pipe or device is
      written to; a pipe has to have its reader. A link is followed if it is yours or root's. Databases are refused.
      csv has a row a record: zone, name, type, parent, then a column for each key that any of the records has; owner where
      a zone is another's, and recordName in the place of name where a key is called so, as with the others. Where that
      makes a table of more than a million cells with less than one in 256 filled, nothing is written: --keys says which
      keys are wanted, --type and --zone which records; ndjson has no columns.
      Dates are ISO 8601 with as many digits as they need, bytes base64, lists and places JSON; encrypted values and kinds
      are not in it, so for a copy that `daybook import` takes back exactly, use ndjson. Lines hold the contents of small
      assets only; with --assets all others are in DIR, where `daybook import --assets DIR` finds them and `sha256sum`
      gives each its name.
      Cells are exact, also those that begin with = + - @, a tab or a line end, which spreadsheets run as formulas: with
      --no-formulas these begin with ' (numbers do not), and so does what stands behind a semicolon, tab or line end inside a
      cell, because a spreadsheet may be set to split there. An import takes the ' for a part of the text. On a terminal cells
      are shown with control characters escaped.
      """
  ) { invocation in
    let arguments = invocation.arguments
    let path = arguments[1]
    let format =
      arguments.value("--format").flatMap { ExportFormat(rawValue: $0) }
      ?? (path.hasEnding(".csv") || path.hasEnding(".tsv") ? .csv : .ndjson)
    if format == .csv, arguments.has("--metadata") { throw ToolError.usage("--metadata does not go with csv.") }
    if format != .csv, arguments.has("--no-formulas") { throw ToolError.usage("--no-formulas goes with csv only.") }
    if format != .csv, arguments.value("--keys") != nil { throw ToolError.usage("--keys goes with csv only.") }
    if format != .csv, arguments.value("--delimiter") != nil { throw ToolError.usage("--delimiter goes with csv only.") }
    let delimiter = try Delimiter(arguments, name: path)
    let wanted = try arguments.value("--keys").map { try CSVExport.keys($0) }
    return try invocation.reading(arguments[0]) { database in
      try invocation.warn(ofUnknownType: arguments.value("--type"), keys: wanted ?? [], database)
      let rules = try database.outputRules()
      let output =
        path.isWord("-")
        ? invocation.output : try Output.named(path, rules, replaces: arguments.has("--force"))
      let snapshot = try database.snapshot()
      var count = 0
      var status = ExitStatus.done
      var assets = try arguments.value("--assets").map { try AssetExport(directory: $0, rules) }
      if let lines = format.lines {
        status = try invocation.forEachRecord(database, snapshot, done: "read") { record in
          count += 1
          try assets?.add(record)
          try output.append {
            try lines.append(record, withMetadata: arguments.has("--metadata"), to: &$0)
          }
        }
      } else {
        // The header names every key, so the records are read twice, in one snapshot; damage is told the second time.
        var table = CSVExport.Table()
        if wanted == nil { _ = try invocation.forEachRecord(database, snapshot, isQuiet: true) { table.add($0.keys) } }
        try table.check()
        let csv = CSVExport(
          keys: wanted ?? table.keys.sorted(),
          hasOwners: try invocation.selectedZones(database, snapshot).contains { $0.owner != Zone.ID.default.owner },
          isShown: output.isTerminal, hasNoFormulas: arguments.has("--no-formulas"), delimiter: delimiter)
        try output.append { csv.appendHeader(to: &$0) }
        status = try invocation.forEachRecord(database, snapshot, done: "read") { record in
          count += 1
          try assets?.add(record)
          try output.append { try csv.append(record, to: &$0) }
        }
      }
      // A complete export that is there is worth more than a new one that is not.
      let recovery = database.lastRecovery
      let isIncomplete = status == .damaged || recovery.lostSequences != nil || recovery.missingByteCount > 0
      let isKept = try isIncomplete && output.hasFileInItsPlace()
      try isKept ? output.flush() : output.finish()
      if let assets {
        try invocation.note("wrote \(Wording.count(assets.fileCount, "asset")), \(Wording.bytes(assets.byteCount))")
        for problem in assets.problems { try invocation.note("daybook: \(problem)") }
        if !assets.problems.isEmpty { status = .damaged }
      }
      if isKept {
        try invocation.note("daybook: \(path) stays as it was: the database is damaged, and a new export would be incomplete.")
        try invocation.note("  Give another name to get the \(Wording.count(count, "record")) that can be read.")
        return .damaged
      }
      if !path.isWord("-") { try invocation.note("wrote \(Wording.count(count, "record")) to \(path)") }
      return status
    }
  }
}

/// What `export` can write.
enum ExportFormat: String, CaseIterable {
  case ndjson, csv
  case cloudKitJSON = "cloudkit-json"

  /// The format of `dump` that it is; nil for CSV.
  var lines: RecordFormat? {
    switch self {
    case .ndjson: .ndjson
    case .cloudKitJSON: .cloudKitJSON
    case .csv: nil
    }
  }
}

/// Writes records as CSV per RFC 4180: rows end with CRLF, cells are quoted where they have to be.
struct CSVExport {
  let keys: [String]
  /// Whether zones of several owners may have one name.
  private let hasOwners: Bool
  /// Where the cell of a key is.
  private let columns: [String: Int]
  /// Whether cells go to a terminal, where nothing in them may do anything.
  private let isShown: Bool
  /// Whether a spreadsheet that opens the file must not run what a record holds.
  private let hasNoFormulas: Bool
  private let delimiter: UInt8

  /// - Parameter keys: each once.
  init(
    keys: [String], hasOwners: Bool = false, isShown: Bool = false, hasNoFormulas: Bool = false, delimiter: Delimiter = .comma
  ) {
    self.keys = keys
    self.hasOwners = hasOwners
    self.delimiter = delimiter.byte
    self.isShown = isShown
    self.hasNoFormulas = hasNoFormulas
    var columns: [String: Int] = [:]
    for (index, key) in keys.enumerated() { columns[key] = (hasOwners ? 5 : 4) + index }
    self.columns = columns
  }

  func appendHeader(to bytes: inout [UInt8]) {
    let own = hasOwners ? ["zone", "owner", "name", "type", "parent"] : ["zone", "name", "type", "parent"]
    appendRow(own.map(columnName) + keys, to: &bytes)
  }

  /// A name of a column of its own. No reader of the table could tell two columns of one name apart.
  private func columnName(_ word: String) -> String {
    if columns[word] == nil { return word }
    var name = "record" + word.prefix(1).uppercased() + word.dropFirst()
    while columns[name] != nil { name += "_" }
    return name
  }

  func append(_ record: Record, to bytes: inout [UInt8]) throws {
    var cells = [record.id.zone.name]
    if hasOwners { cells.append(record.id.zone.owner) }
    cells += [record.id.name, record.type, record.parent?.id.name ?? ""]
    cells.append(contentsOf: repeatElement("", count: keys.count))
    // A record may have a few of very many keys.
    for (key, value) in record.fieldValues() {
      if let column = columns[key] { cells[column] = try Self.cell(value) }
    }
    appendRow(cells, to: &bytes)
  }

  private static func cell(_ value: Record.Value?) throws -> String {
    switch value {
    case nil: return ""
    case .string(let text): return text
    case .date(let date): return CalendarDate.exactText(secondsSinceReference: date.timeIntervalSinceReferenceDate)
    case .reference(let target): return target.id.name
    case .bytes(let content): return content.base64EncodedString()
    case let value?:
      var bytes: [UInt8] = []
      try RecordLine.appendBare(value, to: &bytes)
      // Infinities are texts in JSON; a cell needs no quotes for them.
      return String(decoding: bytes.first == UInt8(ascii: "\"") ? bytes.dropFirst().dropLast() : bytes[...], as: UTF8.self)
    }
  }

  /// A cell that no spreadsheet takes for a formula, however it splits lines: `'` stands before what one may begin with, in
  /// front of the cell and behind what some split at. A number may begin with its sign.
  ///
  /// Quotes would not do: whoever splits at semicolons finds the quote in front of the cell in the middle of his own, and takes
  /// those behind a semicolon away.
  static func withoutFormulas(_ cell: String) -> String {
    // Nearly all cells have none of this, and are not copied.
    guard cell.utf8.contains(where: { mayMatter($0) }) else { return cell }
    let bytes = Array(cell.utf8)
    if NumberShape(bytes, 0..<bytes.count)?.end == bytes.count || cell == "-inf" { return cell }
    var result = ""
    var isAtStart = true
    for (index, scalar) in cell.unicodeScalars.enumerated() {
      let splits = "\t\r\n".unicodeScalars.contains(scalar)
      if isAtStart, begins.contains(scalar) || index == 0 && splits { result.unicodeScalars.append("'") }
      result.unicodeScalars.append(scalar)
      // Blanks and quotes may be taken away.
      isAtStart = splits || scalar == ";" || isAtStart && (scalar == " " || scalar == "\"")
    }
    return result
  }

  /// With the wide forms, which spreadsheets read as the others where these are typed.
  private static let begins: Set<Unicode.Scalar> = ["=", "+", "-", "@", "\u{FF1D}", "\u{FF0B}", "\u{FF0D}", "\u{FF20}"]

  private static func mayMatter(_ byte: UInt8) -> Bool {
    byte == 0x09 || byte == 0x0A || byte == 0x0D || byte == 0x2B || byte == 0x2D || byte == 0x3D || byte == 0x40 || byte == 0xEF
  }

  private func appendRow(_ cells: [String], to bytes: inout [UInt8]) {
    for (index, cell) in cells.enumerated() {
      if index > 0 { bytes.append(delimiter) }
      var cell = hasNoFormulas ? Self.withoutFormulas(cell) : cell
      if isShown { cell = ShownText.escaped(cell) }
      if cell.utf8.contains(where: { $0 == 0x22 || $0 == delimiter || $0 == 0x0A || $0 == 0x0D }) {
        bytes.append(0x22)
        for byte in cell.utf8 {
          if byte == 0x22 { bytes.append(byte) }
          bytes.append(byte)
        }
        bytes.append(0x22)
      } else {
        bytes.append(contentsOf: cell.utf8)
      }
    }
    bytes.append(contentsOf: "\r\n".utf8)
  }
}

extension CSVExport {
  /// The columns that somebody asked for.
  static func keys(_ list: String) throws(ToolError) -> [String] {
    var keys: [String] = []
    for key in list.commaParts {
      guard !key.isEmpty, !keys.contains(key) else {
        throw .usage("--keys needs keys with commas between them, each once.", advice: "For example --keys title,year.")
      }
      keys.append(key)
    }
    return keys
  }

  /// What a table of all keys would be made of. It has a cell for each record and key: records that a stranger wrote, each with
  /// keys of its own, would fill the disk with commas.
  struct Table {
    private(set) var keys: Set<String> = []
    private var rowCount = 0
    private var filledCount = 0
    /// Smaller ones are written whatever is in them.
    static let smallCellCount = 1_000_000
    /// The most cells for one that is filled.
    static let largestShare = 256

    mutating func add(_ keys: [String]) {
      rowCount += 1
      filledCount += keys.count
      self.keys.formUnion(keys)
    }

    func check() throws(ToolError) {
      let (cellCount, isTooMuch) = rowCount.multipliedReportingOverflow(by: keys.count)
      guard isTooMuch || cellCount > max(Self.smallCellCount, Self.largestShare * filledCount) else { return }
      throw ToolError(
        .usage,
        "\(Wording.count(rowCount, "record")) with \(Wording.count(keys.count, "key")) in all make a table of "
          + "\(Wording.count(isTooMuch ? .max : cellCount, "cell")), of which \(Wording.count(filledCount)) would be filled.",
        advice: "Name the columns with --keys KEY,KEY…, choose records with --type or --zone, or export ndjson.")
    }
  }
}
