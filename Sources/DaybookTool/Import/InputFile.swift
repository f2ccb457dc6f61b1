import Daybook
import DaybookEngine
import Foundation

/// An input that can be read twice: a file that stays open, or what flowed out of a pipe, kept in a file without a name.
final class InputFile {
  /// What an input is made of.
  enum Format: String, CaseIterable {
    case json, csv
  }

  /// The name that the input was given by; nil for standard input.
  let name: String?
  /// The folder of the input, opened before it; the present one for standard input. Nil for a text.
  let folder: SourceFolder?
  private let file: any DiskFile

  /// - Parameter path: `-` for standard input.
  init(path: String) throws(ToolError) {
    if path.isWord("-") {
      (name, folder) = (nil, try? SourceFolder("."))
      file = try Self.kept(
        .standardInput, or: "Standard input cannot be read.",
        advice: "It is closed, a directory, or failed: give it a file or a pipe, as in `daybook import FILE - < INPUT`.")
      return
    }
    name = (path as NSString).lastPathComponent
    folder = try? SourceFolder(DaybookEngine.directory(holding: path))
    do { file = try SystemDisk.openSource(path) } catch {
      guard error.kind == .notRegular else {
        throw ToolError(.inputOutput, "\(path) cannot be read.", advice: "Check that it exists and that you may read it.")
      }
      file = try Self.flowing(path)
    }
  }

  /// Keeps a text.
  init(text: String, name: String) throws(ToolError) {
    self.name = name
    folder = nil
    file = try Self.unnamed()
    try Self.append(Data(text.utf8), to: file, at: 0)
  }

  deinit { file.close() }

  /// A pipe flows by once, so what comes out of it is kept. One without a writer is waited for: the shell may start that one
  /// later. An interrupt ends it.
  private static func flowing(_ path: String) throws(ToolError) -> any DiskFile {
    let type = try? FileManager.default.attributesOfItem(atPath: URL(fileURLWithPath: path).resolvingSymlinksInPath().path)[
      .type]
    if type as? FileAttributeType == .typeDirectory { throw ToolError(.inputOutput, "\(path) is a directory.") }
    guard let input = FileHandle(forReadingAtPath: path) else { throw ToolError(.inputOutput, "\(path) cannot be read.") }
    return try kept(
      input, or: "\(path) cannot be read.", advice: "Check that it exists and that you may read it.")
  }

  private static func kept(
    _ input: FileHandle, or sentence: String, advice: String
  ) throws(ToolError) -> any DiskFile {
    let file = try unnamed()
    var offset = 0
    while true {
      let piece: Data?
      do { piece = try input.read(upToCount: 1 << 20) } catch {
        throw ToolError(.inputOutput, sentence, advice: advice)
      }
      guard let piece, !piece.isEmpty else { return file }
      try append(piece, to: file, at: offset)
      offset += piece.count
    }
  }

  /// A file that nobody else could ever open, and that is gone when the process ends, however it ends.
  private static func unnamed() throws(ToolError) -> any DiskFile {
    let path = NSTemporaryDirectory() + "daybook-\(UUID().uuidString)"
    do {
      let file = try SystemDisk().createPrivate(path, byteCount: nil)
      try SystemDisk().remove(path)
      return file
    } catch { throw cannotKeep(error) }
  }

  private static func append(_ piece: Data, to file: any DiskFile, at offset: Int) throws(ToolError) {
    do { try [UInt8](piece).withView { (view) throws(DiskFailure) in try file.write(view, at: offset) } } catch {
      throw cannotKeep(error)
    }
  }

  private static func cannotKeep(_ failure: DiskFailure) -> ToolError {
    ToolError(
      .inputOutput, "The input cannot be kept in \(NSTemporaryDirectory()).",
      advice: "TMPDIR says where there is room. \(failure)")
  }

  /// A reader from the beginning.
  func source() -> ByteSource { ByteSource(file) }

  /// The first bytes; few or none where there are no more.
  func beginning() throws(ToolError) -> [UInt8] {
    let source = ByteSource(file, pieceByteCount: 64)
    var bytes: [UInt8] = []
    _ = try source.read(into: &bytes)
    return bytes
  }

  /// What the input is: as its name says, else by its first byte. Nil when it is empty.
  func format() throws(ToolError) -> Format? {
    let source = source()
    var bytes: [UInt8] = []
    var first: UInt8?
    while first == nil {
      bytes.removeAll()
      guard try source.read(into: &bytes) else { return nil }
      if bytes.starts(with: InputEncoding.byteOrderMark) { bytes.removeFirst(3) }
      first = bytes.first { !" \t\r\n".utf8.contains($0) }
    }
    let name = name ?? ""
    if name.hasEnding(".csv") || name.hasEnding(".tsv") { return .csv }
    if [".json", ".ndjson", ".jsonl"].contains(where: { name.hasEnding($0) }) { return .json }
    return first == UInt8(ascii: "[") || first == UInt8(ascii: "{") ? .json : .csv
  }
}
