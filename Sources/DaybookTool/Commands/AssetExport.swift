import Daybook
import Foundation

/// Writes the contents of records' assets into a directory, each once, under its SHA-256.
///
/// A file gets its name when all its bytes are there and were verified, so what a broken export leaves can be told apart.
struct AssetExport {
  private let directory: String
  private(set) var fileCount = 0
  private(set) var byteCount = 0
  /// Assets that cannot be read.
  private(set) var problems: [String] = []
  private var done: Set<String> = []

  init(directory: String) throws {
    self.directory = directory
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
  }

  mutating func add(_ record: Record) throws {
    for key in record.keys {
      switch record[key] as Record.Value? {
      case .asset(let asset): try add(asset, record, key)
      case .assets(let list): for asset in list { try add(asset, record, key) }
      default: break
      }
    }
  }

  private mutating func add(_ asset: Asset, _ record: Record, _ key: String) throws {
    guard let name = asset.sha256, done.insert(name).inserted else { return }
    let (path, temporary) = ("\(directory)/\(name)", "\(directory)/\(name).new")
    guard FileManager.default.createFile(atPath: temporary, contents: nil),
      let file = FileHandle(forWritingAtPath: temporary)
    else { throw ToolError(.inputOutput, "\(temporary) cannot be written.") }
    do {
      try asset.readContent { try file.write(contentsOf: $0) }
      try file.close()
    } catch let error as DatabaseError {
      try? file.close()
      try? FileManager.default.removeItem(atPath: temporary)
      problems.append("\(record.id), \(key): \(error)")
      return
    }
    if FileManager.default.fileExists(atPath: path) { try FileManager.default.removeItem(atPath: path) }
    try FileManager.default.moveItem(atPath: temporary, toPath: path)
    fileCount += 1
    byteCount += asset.byteCount
  }
}
