/// Prints a JSON array element by element, each on its line, so that the whole is never in memory.
struct JSONListWriter {
  private let output: Output
  private var isFirst = true

  init(_ output: Output) throws {
    self.output = output
    try output.write("[")
  }

  mutating func append(_ element: JSONValue) throws {
    try append { element.append(to: &$0) }
  }

  mutating func append(_ body: (inout [UInt8]) throws -> Void) throws {
    try output.write(isFirst ? "\n" : ",\n")
    isFirst = false
    try output.append(body)
  }

  func end() throws { try output.write(isFirst ? "]\n" : "\n]\n") }
}
