import Foundation

/// An input that can be read twice: a file, or standard input spooled to a temporary one, which goes with this object.
final class InputFile {
  /// What an input is made of.
  enum Format: String, CaseIterable {
    case json, csv
  }

  let path: String
  /// The name that the input was given by; nil for standard input.
  let name: String?
  /// The directory of the input; the present one for standard input.
  var directory: String {
    let directory = name == nil ? "" : (path as NSString).deletingLastPathComponent
    return directory.isEmpty ? "." : directory
  }
  private let isTemporary: Bool

  /// - Parameter path: `-` for standard input.
  init(path: String) throws(ToolError) {
    name = path == "-" ? nil : (path as NSString).lastPathComponent
    if path != "-" {
      let type = (try? FileManager.default.attributesOfItem(atPath: Self.resolved(path)))?[.type] as? FileAttributeType
      if type == .typeDirectory { throw ToolError(.inputOutput, "\(path) is a directory.") }
      if type == .typeRegular || type == nil {
        self.path = path
        isTemporary = false
        return
      }
    }
    // A pipe flows by once; what comes out of it has to be kept to be read again.
    self.path = NSTemporaryDirectory() + "daybook-\(UUID().uuidString)"
    isTemporary = true
    try spool(from: path)
  }

  /// Keeps a text in a temporary file.
  init(text: String, name: String) throws(ToolError) {
    self.name = name
    path = NSTemporaryDirectory() + "daybook-\(UUID().uuidString)"
    isTemporary = true
    guard FileManager.default.createFile(atPath: path, contents: Data(text.utf8)) else {
      throw ToolError(.inputOutput, "\(path) cannot be written.")
    }
  }

  deinit {
    if isTemporary { try? FileManager.default.removeItem(atPath: path) }
  }

  private static func resolved(_ path: String) -> String {
    URL(fileURLWithPath: path).resolvingSymlinksInPath().path
  }

  private func spool(from source: String) throws(ToolError) {
    guard let input = source == "-" ? FileHandle.standardInput : FileHandle(forReadingAtPath: source) else {
      throw ToolError(.inputOutput, "\(source) cannot be read.")
    }
    guard FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600]),
      let copy = FileHandle(forWritingAtPath: path)
    else { throw ToolError(.inputOutput, "\(path) cannot be written.", advice: "TMPDIR says where there is room.") }
    do {
      while let piece = try input.read(upToCount: 1 << 20), !piece.isEmpty { try copy.write(contentsOf: piece) }
      try copy.close()
    } catch {
      throw ToolError(
        .inputOutput, "The input cannot be kept in \(path).", advice: "TMPDIR says where there is room. \(error)")
    }
  }

  /// A reader from the beginning.
  func source() throws(ToolError) -> ByteSource { try ByteSource(path: path) }

  /// What the input is: as its name says, else by its first byte. Nil when it is empty.
  func format() throws(ToolError) -> Format? {
    let source = try source()
    var bytes: [UInt8] = []
    var first: UInt8?
    while first == nil {
      bytes.removeAll()
      guard try source.read(into: &bytes) else { return nil }
      if bytes.starts(with: UTF8Check.byteOrderMark) { bytes.removeFirst(3) }
      first = bytes.first { !" \t\r\n".utf8.contains($0) }
    }
    let lowered = name?.lowercased() ?? ""
    if lowered.hasSuffix(".csv") { return .csv }
    if [".json", ".ndjson", ".jsonl"].contains(where: { lowered.hasSuffix($0) }) { return .json }
    return first == UInt8(ascii: "[") || first == UInt8(ascii: "{") ? .json : .csv
  }
}
