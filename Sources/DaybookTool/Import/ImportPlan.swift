import Daybook

/// How rows become records: a key and a kind for each column. Made from a survey, then only read.
struct ImportPlan {
  struct Column {
    let name: String
    let key: String
    /// Nil for a column that never has a value, or that went into the location.
    let kind: ColumnKind?
    let kinds: KindSet
    /// In CSV: why a column of numbers is text; nil of any other.
    var exception: (cells: Int, of: Int, row: Int, line: Int)?
    /// In CSV: a column that is text only because its numbers have commas, decimal ones or perhaps those between thousands.
    var hasCommas = false
    var hasDecimalCommas = false
  }

  static let locationKey = "location"

  let columns: [Column]
  let zone: Zone.ID
  let type: String
  let isCSV: Bool
  /// Whether there is not a single row, though there may be a header.
  let hasNoRows: Bool
  private let nameColumn: Int?
  private let location: (latitude: Int, longitude: Int)?
  /// Columns whose files become assets.
  private let assets: [AssetColumn]
  private let options: ImportOptions
  private let index: [ByteText: Int]
  /// The columns that become fields in the order of their keys, and the place of each among them. Fields that are set in
  /// another order are moved for each that is set: tens of thousands of columns would take minutes a row.
  private let order: [Int]
  private let ranks: [Int]
  /// A row with fewer keys is set as it comes.
  private static let manyKeys = 64
  /// How many keys were tried for the columns.
  let keyAttemptCount: Int

  /// - Throws: a usage error when an option names a column that is not there.
  init(_ survey: ImportSurvey, _ options: ImportOptions) throws(ToolError) {
    zone = options.zone
    type = options.type
    isCSV = survey.isCSV
    hasNoRows = survey.rowCount == 0
    let names = survey.columns.map(\.name)
    var location: (latitude: Int, longitude: Int)?
    if let place = options.location, survey.rowCount > 0 {
      location = (
        try Self.column(place.latitude, names, "--location"), try Self.column(place.longitude, names, "--location")
      )
    }
    var assets: [AssetColumn] = []
    for asset in options.assets where survey.rowCount > 0 {
      assets.append(AssetColumn(key: asset.key, position: try Self.column(asset.column, names, "--asset")))
    }
    let dropped = (location.map { [$0.latitude, $0.longitude] } ?? []) + assets.map(\.position)
    let kept = names.indices.filter { !dropped.contains($0) }
    var choice = KeyChoice(taken: (location == nil ? [] : [Self.locationKey]) + assets.map(\.key))
    let keys = choice.keys(for: kept.map { names[$0] })
    keyAttemptCount = choice.attemptCount
    var keyOfColumn = [String](repeating: "", count: names.count)
    for (position, key) in zip(kept, keys) { keyOfColumn[position] = key }
    var dates: [Int: DateFormats] = [:]
    for date in options.dates where survey.rowCount > 0 {
      dates[try Self.column(date.column, names, "--date")] = date.formats
    }
    var columns: [Column] = []
    for (position, column) in survey.columns.enumerated() {
      let kind: ColumnKind? = dates[position].map { .date($0) } ?? column.kinds.unified
      columns.append(
        Column(
          name: column.name, key: keyOfColumn[position],
          kind: dropped.contains(position) ? nil : kind,
          kinds: column.kinds, exception: kind == .string ? column.exception : nil,
          hasCommas: kind == .string && column.hasCommas, hasDecimalCommas: kind == .string && column.hasDecimalCommas))
    }
    var nameColumn: Int?
    if let name = options.nameColumn, survey.rowCount > 0 {
      nameColumn = try Self.column(name, names, "--id", orKey: keyOfColumn)
    }
    let order = columns.indices.filter { columns[$0].kind != nil }
      .sorted { UTF8Order.compare(columns[$0].key, columns[$1].key) < 0 }
    var ranks = [Int](repeating: 0, count: columns.count)
    for (rank, position) in order.enumerated() { ranks[position] = rank }
    self.order = order
    self.ranks = ranks
    self.columns = columns
    self.location = location
    self.assets = assets
    self.options = options
    self.nameColumn = nameColumn
    index = Dictionary(names.enumerated().map { (ByteText($1), $0) }, uniquingKeysWith: { first, _ in first })
  }

  private static func column(
    _ name: String, _ names: [String], _ option: String, orKey keys: [String] = []
  ) throws(ToolError) -> Int {
    if let position = names.firstIndex(where: { UTF8Order.equal($0, name) }) { return position }
    if let position = keys.firstIndex(of: name) { return position }
    let nearest = Spelling.nearest(to: name, among: names)
    throw .usage(
      "\(option): no row has a column \(name)\(nearest.map { "; \($0) is one" } ?? "").",
      advice: "The columns are \(names.prefix(30).joined(separator: ", "))\(names.count > 30 ? ", …" : "").")
  }

  // MARK: what is worth telling

  /// Columns whose keys are not their names.
  var mappings: [(column: String, key: String)] {
    columns.filter { $0.kind != nil && !UTF8Order.equal($0.name, $0.key) }.map { ($0.name, $0.key) }
  }

  /// Keys whose values had several kinds and now have one.
  var unifications: [(key: String, kinds: String, kind: String)] {
    if isCSV { return [] }
    return columns.compactMap { column in
      guard let kind = column.kind, column.kinds.isMixed else { return nil }
      if case .date = kind { return nil }
      return (column.key, column.kinds.description, kind.name)
    }
  }

  /// Columns of CSV that are text because of a few cells, though most are numbers.
  var exceptions: [(key: String, cells: Int, of: Int, row: Int, line: Int)] {
    columns.enumerated().compactMap { position, column in
      guard column.kind != nil, position != nameColumn, !column.hasCommas, let exception = column.exception else {
        return nil
      }
      return (column.key, exception.cells, exception.of, exception.row, exception.line)
    }
  }

  /// Keys of CSV that are text because their numbers have decimal commas.
  var decimalCommas: [String] {
    columns.enumerated().compactMap { position, column in
      column.kind != nil && position != nameColumn && column.hasDecimalCommas ? column.key : nil
    }
  }

  /// Keys of CSV that are text because their numbers have commas, all of which may be between thousands.
  var otherCommas: [String] {
    columns.enumerated().compactMap { position, column in
      column.kind != nil && position != nameColumn && column.hasCommas && !column.hasDecimalCommas ? column.key : nil
    }
  }

  /// Keys of CSV that are text though each cell is a number: a fraction makes doubles of all, and a double does not have each whole
  /// number beyond 2^53. As text no digit is lost.
  var inexactKeys: [String] {
    if !isCSV { return [] }
    return columns.enumerated().compactMap { position, column in
      guard column.kind == .string, position != nameColumn, !column.kinds.contains(.text) else { return nil }
      return column.key
    }
  }

  // MARK: rows

  /// The record of a row, and whether its name had to be made up.
  struct Row {
    var record: Record
    var isUnnamed = false
  }

  /// - Parameter number: which row this is, counted from 1.
  func row(
    _ json: JSONValue, number: Int, line: Int, names: inout RowNames
  ) throws(ToolError) -> Row {
    guard case .object(let members) = json else { throw .badRow(line: line, "a row has to be an object.") }
    var row = try begin(number, line, &names) { column in
      switch json[column] {
      case .null?, nil, .object?, .array?: nil
      case let value?: ColumnKind.text(value)
      }
    }
    var expected = 0
    var waiting: [(position: Int, value: Record.Value)] = []
    for member in members {
      guard let position = position(of: member.key, expected: expected) else {
        throw .badRow(line: line, "the input changed while it was read.")
      }
      expected = position + 1
      guard let value = columns[position].kind?.value(member.value) else { continue }
      if members.count > Self.manyKeys {
        waiting.append((position, value))
      } else {
        try set(value, columns[position], &row.record, line)
      }
    }
    waiting.sort { ranks[$0.position] < ranks[$1.position] }
    for field in waiting { try set(field.value, columns[field.position], &row.record, line) }
    if let location {
      let place = try Coordinate.location(
        Coordinate(json[columns[location.latitude].name]), Coordinate(json[columns[location.longitude].name]), line)
      try setLocation(place, &row.record, line)
    }
    for asset in assets {
      guard let value = json[columns[asset.position].name], value != .null else { continue }
      try set(asset, ColumnKind.text(value), &row.record, line)
    }
    return row
  }

  /// - Parameter number: which row this is, counted from 1, without the header.
  func row(_ csv: CSVReader, number: Int, names: inout RowNames) throws(ToolError) -> Row {
    guard csv.cellCount == columns.count else { throw .badRow(line: csv.line, "the input changed while it was read.") }
    let line = csv.line
    var row = try begin(number, line, &names) { _ in
      nameColumn.flatMap { csv.isEmpty($0) ? nil : csv.text($0) }
    }
    for position in order {
      guard let value = columns[position].kind?.value(ofCell: csv.bytes, csv.range(position)) else { continue }
      try set(value, columns[position], &row.record, line)
    }
    if let location {
      let place = try Coordinate.location(
        Coordinate(csv, location.latitude), Coordinate(csv, location.longitude), line)
      try setLocation(place, &row.record, line)
    }
    for asset in assets where !csv.isEmpty(asset.position) {
      try set(asset, csv.text(asset.position), &row.record, line)
    }
    return row
  }

  private func set(_ asset: AssetColumn, _ text: String, _ record: inout Record, _ line: Int) throws(ToolError) {
    let name = columns[asset.position].name
    guard let value = try AssetColumn.asset(text, name, options, line) else { return }
    do throws(DatabaseError) { try record.set(.asset(value), forKey: asset.key) } catch {
      throw .badRow(line: line, "--asset: \(error.message)")
    }
  }

  private func position(of name: String, expected: Int) -> Int? {
    if expected < columns.count, UTF8Order.equal(columns[expected].name, name) { return expected }
    return index[ByteText(name)]
  }

  private func begin(
    _ number: Int, _ line: Int, _ names: inout RowNames, _ nameText: (String) -> String?
  ) throws(ToolError) -> Row {
    do throws(DatabaseError) {
      guard let nameColumn else {
        return Row(record: try Record(type: type, id: Record.ID(names.next(), in: zone)))
      }
      guard let name = nameText(columns[nameColumn].name).flatMap({ names.name(for: $0) }) else {
        return Row(record: try Record(type: type, id: Record.ID("row-\(number)", in: zone)), isUnnamed: true)
      }
      return Row(record: try Record(type: type, id: Record.ID(name, in: zone)))
    } catch { throw .badRow(line: line, error.message) }
  }

  private func set(
    _ value: Record.Value, _ column: Column, _ record: inout Record, _ line: Int
  ) throws(ToolError) {
    do throws(DatabaseError) { try record.set(value, forKey: column.key) } catch {
      throw .badRow(line: line, "\(column.name): \(error.message)")
    }
  }

  private func setLocation(_ place: Location?, _ record: inout Record, _ line: Int) throws(ToolError) {
    guard let place else { return }
    do throws(DatabaseError) { try record.set(.location(place), forKey: Self.locationKey) } catch {
      throw .badRow(line: line, "--location: \(error.message)")
    }
  }
}

extension ImportSurvey.Column {
  /// All cells that are no numbers have a comma where such a number may have one.
  var hasCommas: Bool { textCount > 0 && decimalCommaCount == textCount }
  /// The same, and not all of them may have their commas between thousands.
  var hasDecimalCommas: Bool { hasCommas && thousandsCount < textCount }

  /// The cells that are no numbers, where they are the fewer.
  fileprivate var exception: (cells: Int, of: Int, row: Int, line: Int)? {
    guard kinds.isMixedInCells, let firstText, textCount <= cellCount / 2 else { return nil }
    return (textCount, cellCount, firstText.row, firstText.line)
  }
}
