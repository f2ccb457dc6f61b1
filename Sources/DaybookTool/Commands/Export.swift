import Daybook

extension Commands {
  static let export = Command(
    name: "export", summary: "Write the records to a file: as dump prints them, or as CSV.",
    positionals: ["FILE", "OUT"],
    options: [
      .zone, .type, .flag("--metadata", "Add change tags, dates, users and devices; not with csv."),
      .value("--format", "FORMAT", "How to write.", choices: ExportFormat.allCases.map(\.rawValue)),
      .value("--assets", "DIR", "Also write the contents of assets into a directory, each once, named by its SHA-256."),
      .flag("--no-formulas", "In csv put ' before what a spreadsheet would take for a formula."),
    ],
    details: """
      OUT is - for standard output. The format is csv for a name that ends in .csv, else ndjson.
      A file is made beside OUT and takes its name, and the place of a file that had it, when all is written; what may be
      done with it is what may be done with FILE, less what the mask and a file that it replaces forbid. A pipe or device is
      written to; a pipe has to have its reader. A link is followed if it is yours or root's. FILE and its parts are refused.
      csv has a row a record: zone, name, type, parent, then a column for each key that any of the records has.
      Dates are ISO 8601, bytes base64, lists and places JSON; encrypted values and kinds are not in it, so for a copy
      that `daybook import` takes back exactly, use ndjson. Lines hold the contents of small assets only; with --assets all
      others are in DIR, where `daybook import --assets DIR` finds them and `sha256sum` gives each its name.
      Cells are exact, also those that begin with = + - @, a tab or a line end, which spreadsheets run as formulas: with
      --no-formulas these begin with ' (numbers do not), and an import takes that for a part of the text. On a terminal cells
      are shown with control characters escaped.
      """
  ) { invocation in
    let arguments = invocation.arguments
    let path = arguments[1]
    let format =
      arguments.value("--format").flatMap { ExportFormat(rawValue: $0) }
      ?? (path.lowercased().hasSuffix(".csv") ? .csv : .ndjson)
    if format == .csv, arguments.has("--metadata") { throw ToolError.usage("--metadata does not go with csv.") }
    if format != .csv, arguments.has("--no-formulas") { throw ToolError.usage("--no-formulas goes with csv only.") }
    return try invocation.reading(arguments[0]) { database in
      let rules = try database.outputRules()
      let output = path == "-" ? invocation.output : try Output.named(path, rules)
      var count = 0
      var status = ExitStatus.done
      var assets = try arguments.value("--assets").map { try AssetExport(directory: $0, rules) }
      if let lines = format.lines {
        status = try invocation.forEachRecord(database) { record in
          count += 1
          try assets?.add(record)
          try output.append {
            try lines.append(record, withMetadata: arguments.has("--metadata"), to: &$0)
          }
        }
      } else {
        // The header names every key, so the records are read twice.
        var keys: Set<String> = []
        status = try invocation.forEachRecord(database) { keys.formUnion($0.keys) }
        let csv = CSVExport(
          keys: keys.sorted(), isShown: output.isTerminal, hasNoFormulas: arguments.has("--no-formulas"))
        try output.append { csv.appendHeader(to: &$0) }
        _ = try invocation.forEachRecord(database) { record in
          count += 1
          try assets?.add(record)
          try output.append { try csv.append(record, to: &$0) }
        }
      }
      try output.finish()
      if let assets {
        try invocation.note("wrote \(Wording.count(assets.fileCount, "asset")), \(Wording.bytes(assets.byteCount))")
        for problem in assets.problems { try invocation.note("daybook: \(problem)") }
        if !assets.problems.isEmpty { status = .damaged }
      }
      if path != "-" { try invocation.note("wrote \(Wording.count(count, "record")) to \(path)") }
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
  /// Whether cells go to a terminal, where nothing in them may do anything.
  var isShown = false
  /// Whether a spreadsheet that opens the file must not run what a record holds.
  var hasNoFormulas = false

  func appendHeader(to bytes: inout [UInt8]) { appendRow(["zone", "name", "type", "parent"] + keys, to: &bytes) }

  func append(_ record: Record, to bytes: inout [UInt8]) throws {
    var cells = [record.id.zone.name, record.id.name, record.type, record.parent?.id.name ?? ""]
    for key in keys { cells.append(try Self.cell(record[key])) }
    appendRow(cells, to: &bytes)
  }

  private static func cell(_ value: Record.Value?) throws -> String {
    switch value {
    case nil: return ""
    case .string(let text): return text
    case .date(let date): return RecordText.moment(date)
    case .reference(let target): return target.id.name
    case .bytes(let content): return content.base64EncodedString()
    case let value?:
      var bytes: [UInt8] = []
      try RecordLine.appendBare(value, to: &bytes)
      // Infinities are texts in JSON; a cell needs no quotes for them.
      return String(decoding: bytes.first == UInt8(ascii: "\"") ? bytes.dropFirst().dropLast() : bytes[...], as: UTF8.self)
    }
  }

  /// Whether a spreadsheet may take a cell for a formula. A number may begin with its sign.
  private static func isFormula(_ cell: String) -> Bool {
    guard let first = cell.utf8.first, "=+-@\t\r\n".utf8.contains(first) else { return false }
    let bytes = Array(cell.utf8)
    return NumberShape(bytes, 0..<bytes.count)?.end != bytes.count && cell != "-inf"
  }

  private func appendRow(_ cells: [String], to bytes: inout [UInt8]) {
    for (index, cell) in cells.enumerated() {
      if index > 0 { bytes.append(UInt8(ascii: ",")) }
      var cell = hasNoFormulas && Self.isFormula(cell) ? "'" + cell : cell
      if isShown { cell = ShownText.escaped(cell) }
      if cell.utf8.contains(where: { $0 == 0x22 || $0 == 0x2C || $0 == 0x0A || $0 == 0x0D }) {
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
