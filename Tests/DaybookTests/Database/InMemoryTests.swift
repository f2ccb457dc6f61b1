import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// A database in memory is a database like any other, but for the file.

@Suite("databases in memory")
struct InMemoryTests {
  @Test("it does all that one in a file does, and leaves no file")
  func works() throws {
    let before = try FileManager.default.contentsOfDirectory(atPath: ".").sorted()
    let database = try Database.inMemory()
    let zone = try database.zone("Library")
    try database.write { transaction in
      for number in 0..<2000 { try transaction.save(.fresh("r\(number)", in: zone, ["b": .bytes(Data(count: 100))])) }
    }
    try database.write { try $0.delete(Record.ID("r1", in: zone)) }
    #expect(try database.recordCount(in: zone) == 1999 && database.path == ":memory:")
    #expect(try database.changes(in: zone, since: nil, limit: 5000).deletedNames == ["r1"])
    try database.expectClean()
    try database.sync()
    #expect(try FileManager.default.contentsOfDirectory(atPath: ".").sorted() == before)
    try database.close()
    let error = failure { try database.zones() }
    #expect(error?.code == .closed)
  }

  @Test("two of them have nothing in common")
  func separate() throws {
    let first = try Database.inMemory()
    let second = try Database.inMemory()
    try first.put("a")
    #expect(try second.recordCount(in: .default) == 0 && first.id != second.id)
  }

  @Test("a new one cannot be read-only")
  func readOnly() {
    var options = Database.Options()
    options.isReadOnly = true
    let error = failure { try Database.inMemory(options: options) }
    #expect(error?.code == .invalidArguments)
  }
}
