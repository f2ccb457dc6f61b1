import Daybook
import DaybookCoding
import Foundation

// What the tests encode, and what helps them.

/// The example of many a page about records.
struct Person: RecordCodable, Equatable {
  var systemFields: Data?
  var name: String
  var age: Int
  var website: URL
  var avatar: URL?
  var isDeveloper: Bool

  static let developer = Person(
    name: "Guilherme Rambo", age: 26, website: URL(string: "https://guilhermerambo.me")!, avatar: nil, isDeveloper: true)
}

/// Everything about errors that a test asks for.
func refusal<T>(_ body: () throws -> T) -> RecordCodingError? {
  do {
    _ = try body()
    return nil
  } catch { return error as? RecordCodingError }
}

/// A record that was saved, with its change tag and dates.
func saved(
  _ record: Record, in database: Database, policy: SavePolicy = .ifServerRecordUnchanged
) throws -> Record {
  try database.write { transaction in try transaction.save(record, policy: policy) }
}

/// A folder of the test's own, gone when the value is.
final class Folder {
  let url: URL

  init() throws {
    url = FileManager.default.temporaryDirectory.appending(path: "daybook-coding-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  func file(_ name: String, _ content: String) throws -> URL {
    let file = url.appending(path: name)
    try Data(content.utf8).write(to: file)
    return file
  }

  deinit { try? FileManager.default.removeItem(at: url) }
}

/// Random numbers that a seed decides (SplitMix64).
struct Seeded: RandomNumberGenerator {
  private var state: UInt64
  init(_ seed: UInt64) { state = seed }
  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
    return mixed ^ mixed >> 31
  }
}
