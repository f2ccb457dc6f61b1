/// Numbers with a comma where JSON has a point: `1,5`. They are text in a cell, and two cells where a comma separates cells.
enum DecimalComma {
  /// Whether a cell is such a number.
  static func isNumber(_ bytes: [UInt8], _ range: Range<Int>) -> Bool {
    guard let comma = bytes[range].firstIndex(of: UInt8(ascii: ",")) else { return false }
    return isWhole(bytes, range.lowerBound..<comma) && areDigits(bytes, comma + 1..<range.upperBound)
  }

  /// Whether such a number may be a whole one whose thousands have a comma: `12,345`.
  static func mayBeThousands(_ bytes: [UInt8], _ range: Range<Int>) -> Bool {
    guard let comma = bytes[range].firstIndex(of: UInt8(ascii: ",")), range.upperBound - comma == 4 else { return false }
    let whole = bytes[range.lowerBound..<comma].drop { $0 == UInt8(ascii: "-") }
    return (1...3).contains(whole.count) && whole.first != UInt8(ascii: "0")
  }

  /// The columns that may have the number which was split in a row with too many cells; none where that cannot be told, because several
  /// were split and others look so.
  static func splitColumns(_ row: CSVReader, columnCount: Int) -> [Int] {
    let (places, excess) = (splitPlaces(row), row.cellCount - columnCount)
    if excess == 1 { return places.filter { $0 < columnCount } }
    return places.count == excess ? Array(places.prefix(1)) : []
  }

  /// The cells that may be what is before a comma, with the next one after it.
  static func splitPlaces(_ row: CSVReader) -> [Int] {
    (0..<max(0, row.cellCount - 1)).filter { isWhole(row.bytes, row.range($0)) && areDigits(row.bytes, row.range($0 + 1)) }
  }

  private static func isWhole(_ bytes: [UInt8], _ range: Range<Int>) -> Bool {
    let isNegative = !range.isEmpty && bytes[range.lowerBound] == UInt8(ascii: "-")
    return areDigits(bytes, range.lowerBound + (isNegative ? 1 : 0)..<range.upperBound)
  }

  private static func areDigits(_ bytes: [UInt8], _ range: Range<Int>) -> Bool {
    !range.isEmpty && bytes[range].allSatisfy { $0 &- 0x30 < 10 }
  }
}
