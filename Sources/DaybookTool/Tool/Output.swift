import Foundation

/// A place where bytes go, gathered into pieces: standard output, standard error, a file, or memory in tests.
///
/// Belongs to one thread. What is written reaches the place with `flush`, or when 64 KB have gathered.
package final class Output {
  private enum Sink {
    case file(FileHandle)
    case memory
  }

  private let sink: Sink
  private let name: String
  private var buffer: [UInt8] = []
  private static let pieceByteCount = 64 << 10
  /// Whether a person is watching.
  let isTerminal: Bool

  private init(_ sink: Sink, name: String, isTerminal: Bool) {
    self.sink = sink
    self.name = name
    self.isTerminal = isTerminal
  }

  package static var standardOutput: Output {
    Output(.file(.standardOutput), name: "standard output", isTerminal: isatty(1) == 1)
  }

  package static var standardError: Output {
    Output(.file(.standardError), name: "standard error", isTerminal: isatty(2) == 1)
  }

  /// Keeps everything; read it with ``text``.
  static func memory() -> Output { Output(.memory, name: "memory", isTerminal: false) }

  /// A file, made or emptied.
  static func file(at path: String) throws -> Output {
    guard FileManager.default.createFile(atPath: path, contents: nil),
      let file = FileHandle(forWritingAtPath: path)
    else { throw ToolError(.inputOutput, "\(path) cannot be written.") }
    return Output(.file(file), name: path, isTerminal: false)
  }

  /// What has gathered; in memory everything.
  var text: String { String(decoding: buffer, as: UTF8.self) }

  func write(_ text: String) throws {
    buffer.append(contentsOf: text.utf8)
    try flushIfLong()
  }

  func line(_ text: String = "") throws {
    buffer.append(contentsOf: text.utf8)
    buffer.append(0x0A)
    try flushIfLong()
  }

  /// Lets `body` append to what has gathered: for lines that are made of many pieces.
  func append(_ body: (inout [UInt8]) throws -> Void) throws {
    try body(&buffer)
    try flushIfLong()
  }

  private func flushIfLong() throws {
    if buffer.count >= Self.pieceByteCount { try flush() }
  }

  func flush() throws {
    guard case .file(let file) = sink, !buffer.isEmpty else { return }
    do { try file.write(contentsOf: Data(buffer)) } catch {
      buffer.removeAll()
      throw ToolError(.inputOutput, "\(name) cannot be written.", advice: "Is the disk full, or the reader gone?")
    }
    buffer.removeAll(keepingCapacity: true)
  }
}
