import DaybookFuzzing
import Foundation
import Testing

// What the fuzzer has found, and the inputs that show it the way, run through the same functions in every test run. A file
// in Fuzz/failures is a bug that was repaired; it keeps its name.

@Suite("Inputs of the fuzzer")
struct FuzzReplayTests {
  private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../../Fuzz").standardizedFileURL

  private static func inputs(_ kind: String, of target: FuzzEntry) throws -> [URL] {
    let directory = folder.appending(path: "\(kind)/\(target.rawValue)")
    guard FileManager.default.fileExists(atPath: directory.path) else { return [] }
    return try FileManager.default.contentsOfDirectory(at: directory, includingPropertiesForKeys: nil)
      .filter { !$0.lastPathComponent.hasPrefix(".") }.sorted { $0.path < $1.path }
  }

  @Test("what was found once does not come back", arguments: FuzzEntry.allCases)
  func failures(target: FuzzEntry) throws {
    for file in try Self.inputs("failures", of: target) {
      do { try target.run([UInt8](Data(contentsOf: file))) } catch {
        Issue.record("\(target.rawValue)/\(file.lastPathComponent): \(error)")
      }
    }
  }

  @Test("the corpus holds", arguments: FuzzEntry.allCases)
  func corpus(target: FuzzEntry) throws {
    let files = try Self.inputs("corpus", of: target)
    #expect(!files.isEmpty, "every target has a corpus")
    for file in files {
      do { try target.run([UInt8](Data(contentsOf: file))) } catch {
        Issue.record("\(target.rawValue)/\(file.lastPathComponent): \(error)")
      }
    }
  }

  @Test("nothing at all is an input", arguments: FuzzEntry.allCases)
  func empty(target: FuzzEntry) throws { try target.run([]) }
}
