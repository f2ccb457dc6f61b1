import Daybook

/// Reads CSV as RFC 4180 has it, row by row, in memory that one row needs.
///
/// Cells are separated by commas or another ASCII character, rows by LF, CRLF or CR; a cell in quotes may hold all of these and, doubled, quotes.
/// Empty lines are no rows. A byte order mark is skipped, and so is a first line such as `sep=;`, which spreadsheets write: it
/// names the delimiter, unless the caller does. Works on bytes, because characters would be ten times slower.
///
///     bytes  Rueti / Dorfzentrum, Suedl. TeilCH      the cells of the row, unquoted, one behind the other
///     ends                                   32  34  where each ends
struct CSVReader {
  /// The row read last.
  private(set) var bytes: [UInt8] = []
  private(set) var ends: [Int] = []
  /// The line on which it begins, counted from 1.
  private(set) var line = 0

  private let source: ByteSource
  private var buffer: [UInt8] = []
  private var position = 0
  private var nextLine = 1
  private var hasBegun = false
  /// The last row ended with CR: an LF behind it belongs to it.
  private var maySkipLF = false
  private let maximumByteCount: Int
  /// What separates cells.
  private(set) var delimiter: Delimiter

  init(
    _ source: ByteSource, delimiter: Delimiter = .comma,
    maximumByteCount: Int = JSONElementReader.maximumRowByteCount
  ) {
    self.source = source
    self.delimiter = delimiter
    self.maximumByteCount = maximumByteCount
  }

  var cellCount: Int { ends.count }

  /// Where a cell of the row lies in `bytes`.
  func range(_ index: Int) -> Range<Int> { (index == 0 ? 0 : ends[index - 1])..<ends[index] }

  func isEmpty(_ index: Int) -> Bool { range(index).isEmpty }

  /// The text of a cell, which is valid UTF-8: `next` has seen to it.
  func text(_ index: Int) -> String { String(decoding: bytes[range(index)], as: UTF8.self) }

  /// Reads the next row; false at the end of the input.
  ///
  /// - Throws: an error that names the line, for a quote in the wrong place or bytes that are not UTF-8.
  mutating func next() throws(ToolError) -> Bool {
    if !hasBegun { try begin() }
    while true {
      guard try readRow() else { return false }
      if !(ends.count == 1 && bytes.isEmpty) { return true }
    }
  }

  private mutating func begin() throws(ToolError) {
    hasBegun = true
    while buffer.count < InputEncoding.byteOrderMark.count + Self.separatorLineByteCount, try source.read(into: &buffer) {}
    if let fault = InputEncoding.otherEncoding(of: buffer) { throw fault }
    if buffer.starts(with: InputEncoding.byteOrderMark) { position = 3 }
    skipSeparatorLine()
  }

  /// `sep=`, the delimiter, and the first byte of the line's end.
  private static let separatorLineByteCount = 6

  private mutating func skipSeparatorLine() {
    let line = Array(buffer[position...].prefix(Self.separatorLineByteCount))
    guard line.count == Self.separatorLineByteCount, line.starts(with: "sep=".utf8), line[5] == 0x0A || line[5] == 0x0D,
      let named = Delimiter(named: line[4])
    else { return }
    if !delimiter.isNamed { delimiter = named }
    position += line.count
    nextLine = 2
    maySkipLF = line[5] == 0x0D
  }

  private mutating func refill() throws(ToolError) -> Bool {
    buffer.removeAll(keepingCapacity: true)
    position = 0
    return try source.read(into: &buffer)
  }

  /// Reads one line's cells, an empty line as one empty cell.
  private mutating func readRow() throws(ToolError) -> Bool {
    bytes.removeAll(keepingCapacity: true)
    ends.removeAll(keepingCapacity: true)
    line = nextLine
    let delimiter = delimiter.byte
    var highBits: UInt8 = 0
    if position == buffer.count, try !refill() { return false }
    if maySkipLF {
      maySkipLF = false
      if buffer[position] == 0x0A {
        position += 1
        if position == buffer.count, try !refill() { return false }
      }
    }
    cells: while true {
      if position == buffer.count {
        // Cells without anything in them take memory, too.
        if bytes.count + ends.count * MemoryLayout<Int>.stride > maximumByteCount { throw tooLong() }
        if try !refill() { break }
      }
      if buffer[position] == UInt8(ascii: "\"") {
        position += 1
        try readQuoted(&highBits)
        if position == buffer.count, try !refill() { break }
      }
      // A cell without quotes, or what stands behind the closing quote: a comma or the end of the row.
      while true {
        let first = position
        var stop: UInt8 = 0
        while position < buffer.count {
          let byte = buffer[position]
          if byte == delimiter || byte == 0x0A || byte == 0x0D || byte == UInt8(ascii: "\"") {
            stop = byte
            break
          }
          highBits |= byte
          position += 1
        }
        bytes.append(contentsOf: buffer[first..<position])
        if position == buffer.count {
          if bytes.count + ends.count * MemoryLayout<Int>.stride > maximumByteCount { throw tooLong() }
          if try refill() { continue }
          break cells
        }
        position += 1
        switch stop {
        case delimiter:
          ends.append(bytes.count)
          continue cells
        case UInt8(ascii: "\""):
          let isBeginning = bytes[(ends.last ?? 0)...].allSatisfy { $0 == UInt8(ascii: " ") }
          throw .badRow(
            line: nextLine, "a quote inside an unquoted cell.",
            advice: isBeginning
              ? "Leave out the spaces in front of it, or quote the whole cell and double the quotes in it."
              : "Quote the whole cell and double the quotes in it.")
        default:
          maySkipLF = stop == 0x0D
          nextLine += 1
          break cells
        }
      }
    }
    ends.append(bytes.count)
    if highBits >= 0x80 { try checkUTF8() }
    return true
  }

  private func tooLong() -> ToolError { .badRow(line: line, "the row is longer than \(maximumByteCount >> 20) MB.") }

  /// Reads a cell behind its opening quote, up to and with the closing one, and sees to what comes behind it.
  private mutating func readQuoted(_ highBits: inout UInt8) throws(ToolError) {
    let firstLine = nextLine
    while true {
      let first = position
      while position < buffer.count, buffer[position] != UInt8(ascii: "\"") {
        let byte = buffer[position]
        highBits |= byte
        if byte == 0x0A { nextLine += 1 }
        position += 1
      }
      bytes.append(contentsOf: buffer[first..<position])
      if bytes.count > maximumByteCount {
        throw .badRow(line: firstLine, "the cell in quotes that begins here is longer than \(maximumByteCount >> 20) MB.")
      }
      if position == buffer.count {
        if try refill() { continue }
        throw .badRow(line: firstLine, "the quote that opens here is never closed.")
      }
      position += 1
      if position == buffer.count, try !refill() { return }
      let next = buffer[position]
      if next == UInt8(ascii: "\"") {
        bytes.append(next)
        position += 1
        continue
      }
      guard next == delimiter.byte || next == 0x0A || next == 0x0D else {
        throw .badRow(
          line: nextLine, "text after a closing quote.",
          advice: "Double the quotes inside a quoted cell.")
      }
      return
    }
  }

  /// Cell by cell: the end of one and the beginning of the next could look like one letter.
  private func checkUTF8() throws(ToolError) {
    for index in ends.indices {
      guard let fault = UTF8Check.firstFault(in: bytes, range(index)) else { continue }
      var faultLine = line
      for position in 0..<fault where bytes[position] == 0x0A { faultLine += 1 }
      throw .badRow(
        line: faultLine, "the text is not valid UTF-8.", advice: "Convert it first, for example with iconv.")
    }
  }
}
