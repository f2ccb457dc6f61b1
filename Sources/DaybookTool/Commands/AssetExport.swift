import Daybook
import DaybookEngine
import Foundation

/// Writes the contents of records' assets into a directory, each once, under its SHA-256.
///
/// A file gets its name when all its bytes are there and were verified, so what a broken export leaves can be told apart.
/// The directory stays open, so nobody can put another in its place meanwhile.
struct AssetExport {
  private let directory: OutputFolder
  private let rules: OutputRules
  private(set) var fileCount = 0
  private(set) var byteCount = 0
  /// Assets that cannot be read.
  private(set) var problems: [String] = []
  private var done: Set<String> = []

  init(directory: String, _ rules: OutputRules) throws {
    self.rules = rules
    do { self.directory = try OutputFolder(directory, rules) } catch { throw ToolError(error) }
  }

  mutating func add(_ record: Record) throws {
    for (key, value) in record.fieldValues() {
      switch value {
      case .asset(let asset): try add(asset, record, key)
      case .assets(let list): for asset in list { try add(asset, record, key) }
      default: break
      }
    }
  }

  private mutating func add(_ asset: Asset, _ record: Record, _ key: String) throws {
    guard let name = asset.sha256, done.insert(name).inserted else { return }
    do {
      let file = try OutputPlace(name, in: directory, rules)
      try asset.readContent { try file.write([UInt8]($0)) }
      try file.finish()
    } catch let error as DatabaseError {
      problems.append("\(record.id), \(key): \(error)")
      // Another record may have the content that this one only claims to have.
      done.remove(name)
      return
    } catch let fault as OutputFault {
      throw ToolError(fault)
    }
    fileCount += 1
    byteCount += asset.byteCount
  }
}
