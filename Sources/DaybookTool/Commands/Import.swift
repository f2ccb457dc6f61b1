import Daybook
import DaybookEngine
import Foundation

extension Commands {
  static let importRows = Command(
    name: "import", summary: "Save the rows of a JSON, NDJSON or CSV file as records.",
    positionals: ["FILE", "INPUT"],
    options: [
      .value("--zone", "ZONE", "The zone to save into, made when missing; _defaultZone when left out."),
      .value("--type", "TYPE", "The records' type; made from the input's name when left out, else Row."),
      .value("--id", "COLUMN", "The column that names the records; a new UUID for each row when left out."),
      .value("--location", "LAT,LON", "The columns of latitude and longitude, for one key `location`."),
      .value("--asset", "KEY=COLUMN", "Read the files that a column names, as assets under a key.", mayRepeat: true),
      .value("--assets", "DIR", "Where contents of assets are, as `export --assets` writes them, or files that --asset names."),
      .value("--date", "COLUMN=FORMAT", "Read a column as dates; several formats are tried in turn.", mayRepeat: true),
      .value(
        "--on-existing", "ACTION",
        "What to do with a row whose record exists; replace when left out.",
        choices: ImportOptions.OnExisting.allCases.map(\.rawValue)),
      .flag("--strict", "Refuse a key whose values have several kinds, here or with those of FILE; in CSV, numbers and text."),
      .flag("--acknowledge", "Print the number of rows that are durable after each batch of 1,000."),
      .value(
        "--format", "FORMAT", "What the input is, if its name and first byte do not tell.",
        choices: InputFile.Format.allCases.map(\.rawValue)),
      Delimiter.option, .json,
    ],
    details: """
      INPUT is - for standard input. It is read twice: once to see the kinds of every key, then to save, 1,000 rows a
      transaction. Nothing is saved when the first reading finds a fault, which is told with its line; the exit status
      is 6 then.
      Standard input, a pipe and <(COMMAND) are kept in TMPDIR meanwhile, in a file without a name that nobody else can
      open; a pipe is waited for until it has a writer, and control-C ends that.
      Lines of `daybook dump` are recognised; zone, name and type are theirs, --zone and --type do not count.
      What `changes --json` and cloudkit-json print is refused, unless --format says that it is rows.

      Names       Without --id a later row never meets an earlier one. With it the later row wins, see --on-existing:
                  replace leaves only those encrypted values alone of which the row or dump does not tell what they are;
                  update changes the values that a row has, and an empty cell is none;
                  skip saves absent records only, and tells how many were there. A record never changes its type: where one
                  of another type has the name, the import is refused before anything is saved; skip leaves the row out.
                  What a name cannot hold is percent-encoded; a row without a usable name is called row-N, and so is one
                  whose name would be that of a row with another text.
      Keys        What a key cannot hold becomes _ (US Gross: US_Gross); reserved or taken keys get _2. Both are told.
      JSON        true and false become 1 and 0, null is absent, a list of one kind stays a list; other nested values
                  are kept as JSON text. A key whose values have several kinds gets the one that holds all: 7 beside 7.5
                  becomes 7.0, 1776 beside text "1776". A key that is in an object twice is refused.
      CSV         The first row names the columns. A column is of numbers only if every cell with something in it is
                  one, written as in JSON: 007 and +1 are text, and so are whole numbers beyond 64 bits. Where few cells are
                  none, such as n/a, the first is told. Whole numbers beyond 2^53 beside fractions are text, too: no kind
                  of number has the digits of both. That is told.
                  Numbers with a comma are text, too, and told; with --strict those with a decimal comma are refused.
                  Empty cells are absent, empty lines are no rows; true and false stay text.
                  Cells are separated by commas, in a .tsv by tabs, or as --delimiter or a first line such as sep=; says.
                  A header of one column that semicolons or tabs would split is refused, if the first row is the same;
                  --delimiter comma takes it as one column.
      Encrypted   Encrypted values of a dump are saved as they stand there: an application with a cipher refuses them
                  until it opens the database with acceptsUnsealedValues and saves each record again. A dump has those
                  that a cipher sealed as "sealed", and an import leaves them out.
      Assets      A column of --asset holds paths, from INPUT's directory on, or file URLs; the column itself is dropped.
                  Only files in the directory of INPUT are taken, and those in that of --assets.
      Dates       Stay text without --date. FORMAT is as in strptime: %Y %y %m %d %j %b %B %a %H %I %p %M %S %f %z %s
                  %F %T %R %D, or iso8601; UTC where there is no %z. For example --date "Release Date=%b %d %Y".
                  Several --date for a column are tried in their order for each cell.
      """,
    changesFile: { _ in true }
  ) { invocation in
    let arguments = invocation.arguments
    let input = try InputFile(path: arguments[1])
    let options = try ImportOptions(arguments, input)
    let importer = try Importer(
      input, format: arguments.value("--format").flatMap { InputFile.Format(rawValue: $0) }, options,
      errors: invocation.errors)
    let content = try importer.survey()
    try tell(content, options, invocation)
    return try invocation.writing(arguments[0], mayCreate: true) { database in
      if case .rows(let plan) = content {
        try tellOfOtherKinds(plan, options, database, invocation)
      }
      try importer.requireTypes(content, in: database)
      if case .rows = content {
        try database.write { transaction in try transaction.save(Zone(options.zone)) }
      }
      let acknowledges = arguments.has("--acknowledge")
      let report = try importer.save(content, into: database) { durableCount in
        guard acknowledges else { return }
        try invocation.output.line(String(durableCount))
        try invocation.output.flush()
      }
      try summarize(report, content, options, invocation)
      try tellOfUnsealed(report, invocation)
      return .done
    }
  }

  /// What the first reading found that the user may want to know, on standard error.
  private static func tell(_ content: Importer.Content, _ options: ImportOptions, _ invocation: Invocation) throws {
    switch content {
    case .empty: try invocation.note("the input is empty")
    case .records:
      for option in ["--zone", "--type", "--id", "--location", "--date", "--asset"]
      where !invocation.arguments.allValues(option).isEmpty {
        try invocation.note("\(option) does not count: these are lines of a dump")
      }
    case .rows(let plan):
      if plan.hasNoRows {
        try invocation.note(
          plan.isCSV
            ? "daybook: the input has a header and no rows: the first row names the columns" : "daybook: the input has no rows")
      }
      for mapping in plan.mappings { try invocation.note("key \(mapping.column) → \(mapping.key)") }
      for key in plan.unifications {
        try invocation.note("key \(key.key): \(key.kinds) become \(key.kind)")
      }
      for key in plan.exceptions {
        try invocation.note(
          "key \(key.key): text, because \(Wording.count(key.cells)) of \(Wording.count(key.of, "cell")) "
            + "\(key.cells == 1 ? "is no number, that" : "are no numbers, the first") of row \(Wording.count(key.row)), "
            + "line \(Wording.count(key.line)); empty cells would leave numbers")
      }
      for key in plan.decimalCommas {
        let sentence = "key \(key): text, because its numbers have a decimal comma"
        let advice = "With a point in its place they are numbers, which have an order."
        if options.isStrict { throw ToolError(.malformedInput, "\(sentence).", advice: advice) }
        try invocation.note("\(sentence); with a point in its place they would be numbers")
      }
      for key in plan.otherCommas {
        try invocation.note(
          "key \(key): text, because its numbers have commas, perhaps between thousands; without them they would be numbers")
      }
      for key in plan.inexactKeys {
        try invocation.note(
          "key \(key): text, because it has whole numbers beyond 2^53 and fractions; as numbers some would lose digits")
      }
    }
    try invocation.errors.flush()
  }

  /// Says which keys get values of another kind than the type's records have; with `--strict` the first is refused.
  private static func tellOfOtherKinds(
    _ plan: ImportPlan, _ options: ImportOptions, _ database: Database, _ invocation: Invocation
  ) throws {
    let known = try database.schema().types
    for column in plan.columns {
      guard let kind = column.kind?.fieldKind.name, let others = known.otherKinds(of: column.key, in: plan.type, than: kind)
      else { continue }
      let sentence =
        "key \(ShownText.escaped(column.key)): the values are of the kind \(kind); records of type "
        + "\(ShownText.escaped(plan.type)) have \(others.joined(separator: " or "))."
      if options.isStrict {
        throw ToolError(.malformedInput, sentence, advice: "Without --strict the key would have values of several kinds.")
      }
      try invocation.note("daybook: \(sentence)")
    }
    try invocation.errors.flush()
  }

  /// The result, on standard output; with `--acknowledge` numbers stand there, and the words go beside.
  private static func summarize(
    _ report: ImportReport, _ content: Importer.Content, _ options: ImportOptions, _ invocation: Invocation
  ) throws {
    let output = invocation.arguments.has("--acknowledge") ? invocation.errors : invocation.output
    if invocation.arguments.has("--json") {
      try output.line(json(report, content, options).json)
      return
    }
    var place = ""
    if case .rows = content { place = " into zone \(options.zone) as \(options.type)" }
    try output.line("\(Wording.count(report.importedCount, "row")) imported\(place)")
    if report.replacedCount > 0 {
      let unchanged = report.unchangedCount > 0 ? ", \(Wording.count(report.unchangedCount)) of them without a change" : ""
      let verb = options.onExisting == .update ? "updated" : "replaced"
      try output.line("  \(Wording.count(report.replacedCount)) \(verb) a record of the same name\(unchanged)")
    }
    if report.skippedCount > 0 {
      let others = report.otherTypeCount > 0 ? ", \(Wording.count(report.otherTypeCount)) of them of another type" : ""
      try output.line("  \(Wording.count(report.skippedCount)) skipped: a record of the same name was there\(others)")
    }
    if report.unnamedCount > 0 {
      try output.line("  \(Wording.count(report.unnamedCount)) without a usable name, called row-N")
    }
    if !report.missingTargets.isEmpty {
      try output.line("  \(Wording.count(report.missingTargets.count)) needed as a parent or validated, and not there")
    }
    if report.sealedCount > 0 {
      try output.line("  \(Wording.count(report.sealedCount, "sealed value")) left out: only their cipher can open them")
    }
  }

  /// On standard error, because with a cipher these values are as good as lost until somebody does something about it.
  private static func tellOfUnsealed(_ report: ImportReport, _ invocation: Invocation) throws {
    if report.unsealedCount == 0 { return }
    try invocation.output.flush()
    try invocation.note(
      "daybook: \(Wording.count(report.unsealedCount, "encrypted value")) saved as they are: this tool has no cipher.")
    try invocation.note(
      "  An application with one refuses them until it opens the database with acceptsUnsealedValues and saves each record again."
    )
  }

  private static func json(
    _ report: ImportReport, _ content: Importer.Content, _ options: ImportOptions
  ) -> JSONValue {
    var members: [JSONValue.Member] = [
      .init(key: "rowCount", value: .count(report.rowCount)), .init(key: "newCount", value: .count(report.newCount)),
      .init(key: "replacedCount", value: .count(report.replacedCount)),
      .init(key: "unchangedCount", value: .count(report.unchangedCount)),
      .init(key: "skippedCount", value: .count(report.skippedCount)),
      .init(key: "otherTypeCount", value: .count(report.otherTypeCount)),
      .init(key: "unnamedCount", value: .count(report.unnamedCount)),
      .init(key: "sealedCount", value: .count(report.sealedCount)),
      .init(key: "unsealedCount", value: .count(report.unsealedCount)),
      .init(key: "missingTargetCount", value: .count(report.missingTargets.count)),
    ]
    if case .rows(let plan) = content {
      members.append(.init(key: "zone", value: .string(options.zone.name)))
      members.append(.init(key: "type", value: .string(options.type)))
      members.append(
        .init(key: "mappings", value: .object(plan.mappings.map { .init(key: $0.column, value: .string($0.key)) })))
      members.append(
        .init(
          key: "unified", value: .object(plan.unifications.map { .init(key: $0.key, value: .string($0.kind)) })))
    }
    return .object(members)
  }
}

extension ImportOptions {
  init(_ arguments: Arguments, _ input: InputFile) throws {
    base = input.folder
    if let name = arguments.value("--zone") { zone = try Zone.ID(name) }
    if let name = arguments.value("--type") {
      _ = try Record(type: name)
      type = name
    } else if let name = input.name {
      type = Self.typeName(ofInput: name)
    }
    nameColumn = arguments.value("--id")
    for asset in arguments.allValues("--asset") {
      guard let (key, column) = asset.splitAtEquals(), !key.isEmpty, !column.isEmpty else {
        throw ToolError.usage("--asset needs KEY=COLUMN.", advice: "For example --asset poster=poster_file.")
      }
      var probe = try Record(type: "Row")
      try probe.set(.int(0), forKey: key)
      assets.append((key, column))
    }
    if let path = arguments.value("--assets") {
      do { assetFolder = try SourceFolder(path) } catch {
        throw ToolError(.inputOutput, "--assets: \(path) cannot be opened.", advice: "It names a directory that exists.")
      }
    }
    delimiter = try Delimiter(arguments, name: input.name)
    if let columns = arguments.value("--location") {
      let parts = columns.commaParts
      guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty else {
        throw ToolError.usage("--location needs two columns.", advice: "For example --location lat,lon.")
      }
      location = (parts[0], parts[1])
    }
    for date in arguments.allValues("--date") {
      guard let (column, format) = date.splitAtEquals() else {
        throw ToolError.usage("--date needs COLUMN=FORMAT.", advice: "For example --date \"Release Date=%b %d %Y\".")
      }
      let pattern = try DatePattern(format)
      if let index = dates.firstIndex(where: { UTF8Order.equal($0.column, column) }) {
        dates[index].formats.add(pattern)
      } else {
        dates.append((column, DateFormats([pattern])))
      }
    }
    if let action = arguments.value("--on-existing").flatMap({ OnExisting(rawValue: $0) }) { onExisting = action }
    isStrict = arguments.has("--strict")
  }

  /// `cities.csv` holds `Cities`.
  static func typeName(ofInput name: String) -> String {
    // The shell calls what a command prints /dev/fd/63, with another number each time.
    if name.utf8.allSatisfy({ (0x30..<0x3A).contains($0) }) { return "Row" }
    let stem = KeyMapping.sanitized(name.split(at: UInt8(ascii: "."))?.name ?? name)
    let type = stem.prefix(1).uppercased() + stem.dropFirst()
    return (try? Record(type: type)) == nil ? "Row" : type
  }
}
