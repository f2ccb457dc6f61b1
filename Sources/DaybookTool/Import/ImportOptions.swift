import Daybook
import DaybookEngine

/// What the options of an import say.
struct ImportOptions {
  /// What becomes of a row whose record exists, also from an earlier row. Of one whose record is of another type: it is left out by
  /// skip, and refuses the import with the others.
  enum OnExisting: String, CaseIterable {
    case replace, update, skip, fail
  }

  var zone = Zone.ID.default
  var type = "Row"
  /// The column that names the records.
  var nameColumn: String?
  /// The columns of latitude and longitude.
  var location: (latitude: String, longitude: String)?
  var dates: [(column: String, formats: DateFormats)] = []
  /// Keys whose assets are in the files that a column names.
  var assets: [(key: String, column: String)] = []
  /// Where paths in such columns begin: beside the input. Nil for one that is no file.
  var base: SourceFolder?
  /// Where the contents of a dump's assets are.
  var assetFolder: SourceFolder?
  var onExisting = OnExisting.replace
  var isStrict = false
  /// What separates the cells of CSV.
  var delimiter = Delimiter.comma
}

/// One half of a place, as a row has it.
enum Coordinate {
  case absent
  case number(Double)
  case wrong

  init(_ json: JSONValue?) {
    switch json {
    case .null?, nil: self = .absent
    case .int(let number)?: self = .number(Double(number))
    case .double(let number)?: self = .number(number)
    case .string(let text)?: self.init(text)
    default: self = .wrong
    }
  }

  init(_ row: CSVReader, _ position: Int) { self.init(row.text(position)) }

  private init(_ text: String) {
    if text.isEmpty {
      self = .absent
    } else if let number = Double(text), number.isFinite {
      self = .number(number)
    } else {
      self = .wrong
    }
  }

  /// The place of a row, nil when it has none. Half a place is a mistake.
  static func location(
    _ latitude: Coordinate, _ longitude: Coordinate, _ line: Int
  ) throws(ToolError) -> Location? {
    switch (latitude, longitude) {
    case (.absent, .absent): nil
    case (.number(let latitude), .number(let longitude)): Location(latitude: latitude, longitude: longitude)
    default:
      throw .badRow(line: line, "latitude and longitude have to be numbers, or both be missing.")
    }
  }
}
