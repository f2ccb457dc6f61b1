import Daybook
import DaybookEngine
import Foundation

/// A place where bytes go, gathered into pieces: standard output, standard error, a file, or memory in tests.
///
/// Lines are for people and escaped here, in one place, so that nothing in a name reaches a terminal (`ShownText`); JSON comes
/// escaped and is not changed again. What `write` and `append` take goes out as it is.
///
/// Belongs to one thread. What is written reaches the place with `flush`, or when 64 KB have gathered; a file has its name
/// after `finish`.
package final class Output {
  private enum Sink {
    case stream(FileHandle)
    case place(OutputPlace)
    case memory
  }

  private let sink: Sink
  private let name: String
  private var buffer: [UInt8] = []
  private var isMute = false
  private static let pieceByteCount = 64 << 10
  /// Whether a person is watching.
  let isTerminal: Bool
  /// The number of standard output or standard error, where this is one of them.
  let descriptor: Int32?

  private init(_ sink: Sink, name: String, isTerminal: Bool, descriptor: Int32? = nil) {
    self.sink = sink
    self.name = name
    self.isTerminal = isTerminal
    self.descriptor = descriptor
  }

  package static var standardOutput: Output {
    Output(.stream(.standardOutput), name: "standard output", isTerminal: isatty(1) == 1, descriptor: 1)
  }

  package static var standardError: Output {
    Output(.stream(.standardError), name: "standard error", isTerminal: isatty(2) == 1, descriptor: 2)
  }

  /// Keeps everything; read it with ``text``.
  static func memory() -> Output { Output(.memory, name: "memory", isTerminal: false) }

  /// What a path of the command line names: a file that gets its name with `finish`, a pipe, a device.
  static func named(_ path: String, _ rules: OutputRules, replaces: Bool = true) throws -> Output {
    let place: OutputPlace
    do { place = try OutputPlace(path, rules, replaces: replaces) } catch { throw ToolError(error) }
    guard !isDatabase(path) else {
      throw ToolError(
        .inputOutput, "\(path) is a database, and is not replaced.",
        advice: "Nothing was written: give another name, or remove it first.")
    }
    return Output(.place(place), name: path, isTerminal: place.isTerminal)
  }

  /// Whether a regular file begins as a database does, or has a log where one has it: the first page of that may be damaged.
  private static func isDatabase(_ path: String) -> Bool {
    let target = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
    guard (try? FileManager.default.attributesOfItem(atPath: target))?[.type] as? FileAttributeType == .typeRegular,
      let file = FileHandle(forReadingAtPath: target)
    else { return false }
    defer { try? file.close() }
    let bytes = [UInt8]((try? file.read(upToCount: 4100)) ?? Data())
    return bytes.starts(with: "Daybook\n".utf8) || bytes.dropFirst(4096).elementsEqual("DBf1".utf8)
  }

  /// Throws when this is a stream that leads into a database or what belongs to it.
  func check(_ rules: OutputRules) throws {
    guard let descriptor else { return }
    do { try OutputPlace.check(descriptor, rules, name: name) } catch { throw ToolError(error) }
  }

  /// From now on nothing is written.
  func mute() { isMute = true }

  /// What has gathered; in memory everything.
  var text: String { String(decoding: buffer, as: UTF8.self) }

  /// Writes our own words, which may hold line ends, and what is escaped already.
  func write(_ text: String) throws {
    buffer.append(contentsOf: text.utf8)
    try flushIfLong()
  }

  /// Writes one line, whatever is in the text.
  func line(_ text: String = "") throws {
    buffer.append(contentsOf: ShownText.escaped(text).utf8)
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
    if isMute { buffer.removeAll() }
    guard !buffer.isEmpty else { return }
    do {
      switch sink {
      case .stream(let file): try file.write(contentsOf: Data(buffer))
      case .place(let place): try place.write(buffer)
      case .memory: return
      }
    } catch {
      buffer.removeAll()
      throw ToolError(.inputOutput, "\(name) cannot be written.", advice: "Is the disk full, or the reader gone?")
    }
    buffer.removeAll(keepingCapacity: true)
  }

  /// Whether `finish` would put this in the place of a file that has content.
  func hasFileInItsPlace() throws -> Bool {
    // What leads to an open descriptor is written to as it is.
    guard case .place = sink, !name.hasPrefix("/dev/"), !name.hasPrefix("/proc/") else { return false }
    let target = URL(fileURLWithPath: name).resolvingSymlinksInPath().path
    guard let found = try? FileManager.default.attributesOfItem(atPath: target) else { return false }
    return found[.type] as? FileAttributeType == .typeRegular && (found[.size] as? NSNumber)?.intValue != 0
  }

  /// Writes the rest and gives a file its name. Without it what was made goes away again.
  func finish() throws {
    try flush()
    guard case .place(let place) = sink else { return }
    do { try place.finish() } catch { throw ToolError(error) }
  }
}
