import Daybook

/// What the first reading of an input found: its keys in the order in which they appeared, and the kinds of their
/// values. Memory grows with the number of keys, not of rows.
struct ImportSurvey {
  struct Column {
    let name: String
    var kinds: KindSet = []
    /// In CSV: cells that are no numbers, of how many that are not empty, and where the first of them is.
    var textCount = 0
    /// Of these: numbers with a comma, and those that may be whole ones whose thousands have it.
    var decimalCommaCount = 0
    var thousandsCount = 0
    var cellCount = 0
    var firstText: (row: Int, line: Int)?
  }

  private(set) var columns: [Column] = []
  private(set) var rowCount = 0
  let isCSV: Bool
  private let options: ImportOptions
  private var index: [ByteText: Int] = [:]
  /// In CSV: where the columns that options name are; columns that are not there are the plan's to refuse.
  private var dates: [(position: Int, formats: DateFormats)] = []
  private var location: (latitude: Int, longitude: Int)?
  private var assets: [AssetColumn] = []
  /// Those whose cells are read as options say, and not by what they look like.
  private var namedColumns: Set<Int> = []

  /// A survey of JSON rows.
  init(_ options: ImportOptions) {
    isCSV = false
    self.options = options
  }

  /// A survey of CSV, whose first row names the columns.
  init(header: CSVReader, _ options: ImportOptions) {
    isCSV = true
    self.options = options
    columns = (0..<header.cellCount).map { Column(name: header.text($0)) }
    func position(_ name: String) -> Int? { columns.firstIndex { UTF8Order.equal($0.name, name) } }
    assets = options.assets.compactMap { asset in
      position(asset.column).map { AssetColumn(key: asset.column, position: $0) }
    }
    dates = options.dates.compactMap { date in position(date.column).map { ($0, date.formats) } }
    if let place = options.location, let latitude = position(place.latitude),
      let longitude = position(place.longitude)
    {
      location = (latitude, longitude)
      namedColumns = [latitude, longitude]
    }
    namedColumns.formUnion(assets.map(\.position) + dates.map(\.position))
  }

  /// Takes note of a row of JSON.
  ///
  /// - Throws: for a strict survey, an error at the first value whose kind differs from earlier ones of its key.
  mutating func observe(_ row: JSONValue, line: Int) throws(ToolError) {
    guard case .object(let members) = row else { throw .badRow(line: line, "a row has to be an object.") }
    rowCount += 1
    var expected = 0
    for member in members {
      let position = position(of: member.key, expected: expected)
      expected = position + 1
      let before = columns[position].kinds
      let kind = KindSet(of: member.value)
      if kind.isSubset(of: before) { continue }
      let after = before.union(kind)
      if options.isStrict, after.isMixed, !before.isMixed { throw mix(of: before, and: kind, in: member.key, line) }
      columns[position].kinds = after
    }
    for date in options.dates {
      guard let value = row[date.column], value != .null else { continue }
      try check(ColumnKind.text(value), date.formats, date.column, line)
    }
    for asset in options.assets {
      guard let value = row[asset.column], value != .null else { continue }
      _ = try AssetColumn.asset(ColumnKind.text(value), asset.column, options, line)
    }
    if let location = options.location {
      _ = try Coordinate.location(Coordinate(row[location.latitude]), Coordinate(row[location.longitude]), line)
    }
  }

  /// Takes note of a row of CSV.
  ///
  /// - Throws: for a strict survey, an error at the first text in a column that had numbers, and at the first number among texts.
  mutating func observe(_ row: CSVReader) throws(ToolError) {
    guard row.cellCount == columns.count else {
      throw .badRow(
        line: row.line, "the row has \(Wording.count(row.cellCount, "cell")), the header \(columns.count).",
        advice: advice(onCellsOf: row))
    }
    rowCount += 1
    for position in columns.indices {
      let before = columns[position].kinds
      let kind = KindSet(ofCell: row.bytes, row.range(position))
      if kind == .text {
        columns[position].textCount += 1
        if DecimalComma.isNumber(row.bytes, row.range(position)) {
          columns[position].decimalCommaCount += 1
          if DecimalComma.mayBeThousands(row.bytes, row.range(position)) { columns[position].thousandsCount += 1 }
        }
        if columns[position].firstText == nil { columns[position].firstText = (rowCount, row.line) }
      }
      if !kind.isEmpty { columns[position].cellCount += 1 }
      if kind.isSubset(of: before) { continue }
      let after = before.union(kind)
      if options.isStrict, after.isMixedInCells, !before.isMixedInCells, !namedColumns.contains(position) {
        let isDecimal = columns[position].hasDecimalCommas
        throw mix(of: before, and: kind, in: columns[position].name, row.line, isDecimal ? Self.decimalAdvice : nil)
      }
      columns[position].kinds = after
    }
    for asset in assets where !row.isEmpty(asset.position) {
      _ = try AssetColumn.asset(row.text(asset.position), asset.key, options, row.line)
    }
    for date in dates where !row.isEmpty(date.position) {
      try check(row.text(date.position), date.formats, columns[date.position].name, row.line)
    }
    if let location {
      _ = try Coordinate.location(
        Coordinate(row, location.latitude), Coordinate(row, location.longitude), row.line)
    }
  }

  /// What a strict survey says of a key with values of several kinds.
  private func mix(
    of before: KindSet, and kind: KindSet, in column: String, _ line: Int, _ advice: String? = nil
  ) -> ToolError {
    .badRow(
      line: line, "row \(rowCount): \(column) holds \(kind.description), and \(before.description) in earlier rows.",
      advice: advice ?? "Without --strict the key would be stored as \(before.union(kind).unified?.name ?? "text").")
  }

  private static let decimalAdvice = "Its texts are numbers with a decimal comma: with a point they are numbers."

  /// What to do about a row with too many cells, or too few.
  private func advice(onCellsOf row: CSVReader) -> String {
    let delimiter = row.delimiter.name
    guard row.cellCount > columns.count else { return "An empty cell needs its \(delimiter), too." }
    let quotes = "A cell with a \(delimiter) in it needs quotes."
    guard delimiter == Delimiter.comma.name, !DecimalComma.splitPlaces(row).isEmpty else { return quotes }
    let ways = "write a point for it, or put the number into quotes, which makes it text."
    var positions = DecimalComma.splitColumns(row, columnCount: columns.count)
    // One that has had fractions is rather the one.
    let fractions = positions.filter { columns[$0].kinds.contains(.double) }
    if fractions.count == 1 { positions = fractions }
    let names = positions.prefix(3).map { ShownText.escaped(columns[$0].name) }
    if names.isEmpty { return "\(quotes) Where a number has a decimal comma, \(ways)" }
    return "Has a number in the column \(names.joined(separator: " or ")) a decimal comma? Then \(ways)"
  }

  private func check(_ text: String, _ formats: DateFormats, _ column: String, _ line: Int) throws(ToolError) {
    if formats.seconds(text) != nil { return }
    throw .badRow(
      line: line, "row \(rowCount): \(column) \(formats.fault(of: text))",
      advice: "Nothing was saved. Several --date for a column are tried in turn; without --date the key is kept as text.")
  }

  /// Rows mostly have their keys in one order, so the next column is tried before the dictionary.
  private mutating func position(of name: String, expected: Int) -> Int {
    if expected < columns.count, UTF8Order.equal(columns[expected].name, name) { return expected }
    if let known = index[ByteText(name)] { return known }
    index[ByteText(name)] = columns.count
    columns.append(Column(name: name))
    return columns.count - 1
  }
}
