/// Reads rows out of a JSON array or of NDJSON, one element at a time, in memory that one row needs.
///
///     [ {…}, {…} ]        an array: its elements are the rows
///     {…} ⏎ {…} ⏎         NDJSON: a row a line; where the first row takes several lines, later ones may too
///
/// Always true: `buffer[position...]` is what was read and not yet handed out, and begins on line `line`.
struct JSONElementReader {
  /// More than this is no row but a mistake, such as a quote that never closes.
  static let maximumRowByteCount = 256 << 20

  private enum Shape {
    case unknown
    case array
    case lines
  }

  private let source: ByteSource
  private var buffer: [UInt8] = []
  private var position = 0
  private var line = 1
  /// Where in the input the buffer and the present line begin.
  private var bufferOffset = 0
  private var lineOffset = 0
  /// How many rows were begun.
  private var rowCount = 0
  private var shape = Shape.unknown
  private var isFirst = true
  private var isAtEnd = false
  /// In NDJSON a row that began on a line has to end on it; decided by the first row.
  private var isRowPerLine = false
  private let maximumByteCount: Int

  init(_ source: ByteSource, maximumByteCount: Int = JSONElementReader.maximumRowByteCount) {
    self.source = source
    self.maximumByteCount = maximumByteCount
  }

  /// The next row and its line; nil at the end of the input.
  mutating func next() throws(ToolError) -> (value: JSONValue, line: Int)? {
    if shape == .unknown { try begin() }
    guard try skipToElement() else { return nil }
    let first = line
    let start = bufferOffset + position - lineOffset
    rowCount += 1
    let end = try elementEnd()
    let value: JSONValue
    do throws(JSONParser.Fault) {
      value = try JSONParser.parse(buffer, position..<end, line: first, column: start + 1)
    } catch {
      throw .badRow(line: error.line, column: error.column, row: rowCount, error.reason)
    }
    if shape == .lines, isFirst { isRowPerLine = line == first }
    isFirst = false
    position = end
    return (value, first)
  }

  // MARK: between the rows

  private mutating func begin() throws(ToolError) {
    while buffer.count < 3, try source.read(into: &buffer) {}
    if let fault = InputEncoding.otherEncoding(of: buffer) { throw fault }
    if buffer.starts(with: InputEncoding.byteOrderMark) { position = 3 }
    shape = .lines
    if try skipWhitespace() == UInt8(ascii: "[") {
      shape = .array
      position += 1
    }
  }

  /// Moves to the next element; false at the end.
  private mutating func skipToElement() throws(ToolError) -> Bool {
    if isAtEnd { return false }
    var byte = try skipWhitespace()
    if shape == .lines {
      isAtEnd = byte == nil
      return byte != nil
    }
    if byte == UInt8(ascii: "]") {
      position += 1
      if try skipWhitespace() != nil { throw .badRow(line: line, "unexpected text after the array.") }
      isAtEnd = true
      return false
    }
    if !isFirst {
      guard byte == UInt8(ascii: ",") else {
        throw .badRow(line: line, byte == nil ? "the array does not end." : "a comma between two rows is missing.")
      }
      position += 1
      byte = try skipWhitespace()
      if byte == UInt8(ascii: "]") { throw .badRow(line: line, "the comma before the end of the array has to go.") }
    }
    guard byte != nil else { throw .badRow(line: line, "the array does not end.") }
    return true
  }

  /// The first byte that is no whitespace; nil at the end.
  private mutating func skipWhitespace() throws(ToolError) -> UInt8? {
    while true {
      while position < buffer.count {
        switch buffer[position] {
        case 0x0A:
          line += 1
          position += 1
          lineOffset = bufferOffset + position
        case 0x20, 0x0D, 0x09: position += 1
        case let byte: return byte
        }
      }
      bufferOffset += buffer.count
      buffer.removeAll(keepingCapacity: true)
      position = 0
      if try !source.read(into: &buffer) { return nil }
    }
  }

  // MARK: within a row

  /// Finds the end of the element at `position`, reading on where it is cut; `line` moves along.
  private mutating func elementEnd() throws(ToolError) -> Int {
    let firstLine = line
    var index = position
    var depth = 0
    var isInText = false
    while true {
      while index < buffer.count {
        let byte = buffer[index]
        if isInText {
          if byte == UInt8(ascii: "\\") {
            index += 2
            continue
          }
          if byte == UInt8(ascii: "\"") { isInText = false }
          if byte == 0x0A { throw .badRow(line: line, "a text does not end on its line.") }
          index += 1
          if !isInText, depth == 0 { return index }
          continue
        }
        switch byte {
        case UInt8(ascii: "\""): isInText = true
        case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
        case UInt8(ascii: "}"), UInt8(ascii: "]"):
          if depth == 0 { return max(index, position + 1) }
          depth -= 1
          if depth == 0 { return index + 1 }
        case UInt8(ascii: ","):
          // A comma where a row should begin: take it, so that the parser names what is wrong.
          if depth == 0 { return max(index, position + 1) }
        case 0x0A:
          if depth == 0 { return index }
          if isRowPerLine { throw .badRow(line: firstLine, "the row does not end on its line.") }
          line += 1
          lineOffset = bufferOffset + index + 1
        case 0x20, 0x09, 0x0D:
          if depth == 0 { return index }
        default: break
        }
        index += 1
      }
      if index - position > maximumByteCount {
        throw .badRow(line: firstLine, "the row is longer than \(maximumByteCount >> 20) MB.")
      }
      // What was handed out makes room before more is read.
      buffer.removeFirst(position)
      bufferOffset += position
      index -= position
      position = 0
      if try !source.read(into: &buffer) {
        // An escape at the very end may have stepped beyond it.
        index = min(index, buffer.count)
        if depth > 0 || isInText { throw .badRow(line: firstLine, "the row that begins here does not end.") }
        return index
      }
    }
  }
}
