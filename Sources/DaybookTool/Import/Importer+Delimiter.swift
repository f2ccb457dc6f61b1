import Daybook

/// What is said of a table that is split at another character than its author meant.
///
/// Which one that is, the header and the first rows tell: a delimiter that splits all of them into the same number of cells, two at least.
extension Importer {
  private static let firstRowCount = 10

  /// One column is mostly a table of another delimiter. A header and a first row that it splits are saved as such only where an
  /// option, or the input, says that it is not meant.
  func tellOfOneColumn(_ header: CSVReader) throws {
    let others = header.delimiter.alternatives(in: header.text(0))
    let splitting = others.first { splitsFirstRow(at: $0) }
    guard let other = splitting ?? others.first(where: { cellCount(at: $0, rowCount: 0) != nil }) else { return }
    let column = ShownText.escaped(String(header.text(0).prefix(60)))
    if !header.delimiter.isNamed, splitting != nil {
      throw ToolError.badRow(
        line: header.line, "the input has one column, \(column), and a \(other.name) splits it and the first row.",
        advice: "--delimiter \(other.name) splits them, --delimiter \(header.delimiter.name) imports one column.")
    }
    try errors.line("daybook: the input has one column, \(column); --delimiter \(other.name) splits it.")
  }

  /// Spreadsheets separate cells by semicolons where a comma is the decimal point. With a comma in the header, too (`size, cm`), commas split
  /// such a table into as many cells in each row, and the wrong ones.
  func checkIsSplitOnce(_ header: CSVReader) throws {
    guard header.delimiter == .comma, let count = cellCount(at: .comma, rowCount: Self.firstRowCount),
      let other = cellCount(at: .semicolon, rowCount: Self.firstRowCount)
    else { return }
    throw ToolError.badRow(
      line: header.line,
      "commas split the header and the first rows into \(Wording.count(count)) cells, semicolons into \(Wording.count(other)).",
      advice: "--delimiter comma or --delimiter semicolon says which is meant.")
  }

  /// An error with what to do, where it comes of the delimiter: quotes beside another one, rows of different numbers of cells.
  func withDelimiter(_ error: ToolError, _ delimiter: Delimiter) -> ToolError {
    guard error.status == .malformedInput, cellCount(at: delimiter, rowCount: Self.firstRowCount) == nil,
      error.advice?.contains("--delimiter") != true
    else { return error }
    for other in delimiter.alternatives {
      guard let count = cellCount(at: other, rowCount: Self.firstRowCount) else { continue }
      return ToolError(
        error.status, error.message,
        advice: "A \(other.name) splits the header and the first rows into \(Wording.count(count)) cells each: "
          + "--delimiter \(other.name).")
    }
    return error
  }

  /// Whether there is a first row, and it has several cells as the header has, be it more or fewer.
  private func splitsFirstRow(at other: Delimiter) -> Bool {
    var reader = CSVReader(input.source(), delimiter: other.asNamed)
    for _ in 0..<2 {
      guard (try? reader.next()) == true, reader.cellCount > 1 else { return false }
    }
    return true
  }

  /// How many cells the header and the first rows all have with a delimiter; nil where they differ, cannot be read, or have one.
  /// - Parameter rowCount: how many rows beside the header, if there are so many; of more than none there is one at least.
  private func cellCount(at delimiter: Delimiter, rowCount: Int) -> Int? {
    var reader = CSVReader(input.source(), delimiter: delimiter.asNamed)
    guard (try? reader.next()) == true, reader.cellCount > 1 else { return nil }
    let count = reader.cellCount
    for row in 0..<rowCount {
      guard let hasNext = try? reader.next() else { return nil }
      if !hasNext { return row == 0 ? nil : count }
      if reader.cellCount != count { return nil }
    }
    return count
  }
}
