import DaybookTesting
import Foundation
import Testing

@testable import Daybook

/// Assets as values: ingested at save, stored in their record, returned with their digest.
@Suite("assets as values")
struct AssetValueTests {
  private let content = Data((0..<1000).map { UInt8(truncatingIfNeeded: $0 * 31) })

  private func sha256(_ data: Data) throws -> String { try #require(Asset(data: data).withContent(ofAtMost: .max).sha256) }

  @Test("an asset from bytes comes back with its digest and content, also after the file was opened again")
  func roundTrip() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.daybook")
    let id = try Record.ID("a")
    do {
      let database = try Database.open(at: path)
      var record = try Record.fresh("a", ["title": "picture"])
      record["image"] = Asset(data: content)
      record["empty"] = Asset(data: Data())
      #expect((record["image"] as Asset?)?.sha256 == nil)
      let saved = try database.write { try $0.save(record) }
      let image = try #require(saved["image"] as Asset?)
      #expect(image.data == content && image.byteCount == content.count && image.fileURL == nil)
      #expect(saved.changedKeys.isEmpty)
      #expect((record["image"] as Asset?)?.sha256 == nil, "a record is a value")
      try database.close()
    }
    let database = try Database.open(at: path)
    let read = try #require(try database.record(id))
    let image = try #require(read["image"] as Asset?)
    #expect(image.data == content)
    #expect(image.sha256 == (try sha256(content)))
    let empty = try #require(read["empty"] as Asset?)
    #expect(empty.data == Data())
    #expect(empty.sha256 == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    #expect(read["title"] as String? == "picture")
    try database.expectClean()
  }

  /// A record with an asset made from a file, and the file.
  private func withPicture(in folder: TemporaryFolder) throws -> (record: Record, url: URL) {
    let url = URL(filePath: folder.file("picture.bin"))
    try content.write(to: url)
    var record = try Record.fresh("a")
    record["image"] = try Asset(fileURL: url)
    return (record, url)
  }

  @Test("an asset from a file is read once, at save; afterwards the file may go")
  func fromFile() throws {
    let folder = try TemporaryFolder()
    let database = try Database.scratch()
    let (record, url) = try withPicture(in: folder)
    let saved = try database.write { try $0.save(record) }
    try FileManager.default.removeItem(at: url)
    for version in [saved, try #require(try database.record(record.id))] {
      let image = try #require(version["image"] as Asset?)
      #expect(image.data == content)
      #expect(image.sha256 == (try sha256(content)))
      #expect(image.fileURL == nil)
    }
    try database.expectClean()
  }

  @Test("equal content has an equal digest, wherever it came from")
  func equalContent() throws {
    let folder = try TemporaryFolder()
    let url = URL(filePath: folder.file("picture.bin"))
    try content.write(to: url)
    let database = try Database.scratch()
    var record = try Record.fresh("a")
    record["fromFile"] = try Asset(fileURL: url)
    record["fromBytes"] = Asset(data: content)
    record["other"] = Asset(data: content + [0])
    let saved = try database.write { try $0.save(record) }
    #expect(saved["fromFile"] as Asset? == saved["fromBytes"] as Asset?)
    #expect(saved["fromFile"] as Asset? != saved["other"] as Asset?)
    #expect(saved["fromFile"] as Record.Value? == saved["fromBytes"] as Record.Value?)
  }

  @Test("an unchanged record that is saved again keeps its assets, and so does one with another change")
  func keptAtNextSave() throws {
    let database = try Database.scratch()
    var record = try Record.fresh("a")
    record["image"] = Asset(data: content)
    var saved = try database.write { try $0.save(record) }
    saved = try database.write { try $0.save(saved) }
    #expect((saved["image"] as Asset?)?.data == content)
    saved["title"] = "picture"
    saved = try database.write { try $0.save(saved) }
    #expect((saved["image"] as Asset?)?.data == content)
    saved = try database.write { try $0.save(saved, policy: .allKeys) }
    #expect((saved["image"] as Asset?)?.data == content)
    // What was read can be set again, here and in another record.
    let image = saved["image"] as Asset?
    var other = try Record.fresh("b")
    other["copy"] = image
    let copy = try database.write { try $0.save(other) }
    #expect(copy["copy"] as Asset? == image)
    saved["image"] = nil as Asset?
    saved = try database.write { try $0.save(saved) }
    #expect(try database.record(saved.id)?["image"] as Asset? == nil)
    #expect(try database.history(of: saved.id).count == 5)
    try database.expectClean()
  }

  @Test("a list of assets keeps its order and its repetitions")
  func list() throws {
    let database = try Database.scratch()
    let folder = try TemporaryFolder()
    let url = URL(filePath: folder.file("picture.bin"))
    try content.write(to: url)
    var record = try Record.fresh("a")
    record["pages"] = [Asset(data: Data([1])), try Asset(fileURL: url), Asset(data: Data([1])), Asset(data: Data())]
    record["none"] = [Asset]()
    let saved = try database.write { try $0.save(record) }
    for version in [saved, try #require(try database.record(record.id))] {
      let pages = try #require(version["pages"] as [Asset]?)
      #expect(pages.map(\.data) == [Data([1]), content, Data([1]), Data()])
      #expect(try pages.map(\.sha256) == [sha256(Data([1])), sha256(content), sha256(Data([1])), sha256(Data())])
      #expect(version["none"] as [Asset]? == [])
    }
    try database.expectClean()
  }

  @Test("an asset that is too large is refused with its key, size and limit")
  func tooLarge() throws {
    let database = try Database.scratch { $0.limits.assetByteCount = 100 }
    var record = try Record.fresh("a")
    record["image"] = Asset(data: Data(count: 101))
    let error = failure { try database.write { _ = try $0.save(record) } }
    #expect(error?.code == .limitExceeded)
    #expect(error?.facts.key == "image")
    #expect(error?.facts.size == 101)
    #expect(error?.facts.limit == 100)
    #expect(error?.facts.name == "a")
    #expect(try database.record(record.id) == nil)
    record["image"] = Asset(data: Data(count: 100))
    try database.write { _ = try $0.save(record) }
    #expect(Database.Options().inlineAssetByteCount == 65_536)
  }

  @Test("a file that is too large is refused unread")
  func fileTooLarge() throws {
    let folder = try TemporaryFolder()
    let url = URL(filePath: folder.file("large.bin"))
    try Data(count: 70_000).write(to: url)
    let database = try Database.scratch { $0.limits.assetByteCount = 69_999 }
    var record = try Record.fresh("a")
    record["pages"] = [Asset(data: content), try Asset(fileURL: url)]
    let error = failure { try database.write { _ = try $0.save(record) } }
    #expect(error?.code == .limitExceeded)
    #expect(error?.facts.key == "pages")
    #expect(error?.facts.path == url.path)
    #expect(error?.facts.size == 70_000)
  }

  @Test("the content of assets does not count towards the size of a record")
  func doesNotCount() throws {
    let database = try Database.scratch { $0.limits.recordByteCount = 2000 }
    var record = try Record.fresh("a", ["text": .string(String(repeating: "x", count: 1000))])
    record["pages"] = (0..<10).map { Asset(data: Data(count: 1000 + $0)) }
    let saved = try database.write { try $0.save(record) }
    #expect(saved.encodedByteCount < 2000)
    #expect((saved["pages"] as [Asset]?)?.last?.data?.count == 1009)
  }

  @Test("a missing file fails its record only, and the record keeps its edits")
  func missingFile() throws {
    let folder = try TemporaryFolder()
    let url = URL(filePath: folder.file("picture.bin"))
    try content.write(to: url)
    let database = try Database.scratch()
    var record = try Record.fresh("a", ["title": "picture"])
    record["image"] = try Asset(fileURL: url)
    try FileManager.default.removeItem(at: url)
    let result = try database.modify(saving: [record, try .fresh("b")], atomically: false)
    let error = result.errors[record.id]
    #expect(error?.code == .assetFileNotFound)
    #expect(error?.facts.key == "image")
    #expect(error?.facts.path == url.path)
    #expect(try database.record(Record.ID("a")) == nil)
    #expect(try database.record(Record.ID("b")) != nil)
    #expect(record.changedKeys == ["title", "image"])
    // With a good asset the same record goes through.
    record["image"] = Asset(data: content)
    #expect(try database.modify(saving: [record]).errors.isEmpty)
    try database.expectClean()
  }

  @Test("a file that changed since the asset was made is refused", arguments: ["longer", "touched", "a directory"])
  func modifiedFile(way: String) throws {
    let folder = try TemporaryFolder()
    let database = try Database.scratch()
    let (record, url) = try withPicture(in: folder)
    switch way {
    case "longer":
      try (content + [1]).write(to: url)
    case "touched":
      try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSinceNow: 100)], ofItemAtPath: url.path)
    default:
      try FileManager.default.removeItem(at: url)
      try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }
    let error = failure { try database.write { _ = try $0.save(record) } }
    #expect(error?.code == .assetFileModified)
    #expect(error?.facts.key == "image")
    #expect(try database.record(record.id) == nil)
  }

  @Test("an asset that is known by its digest alone has nothing to store, and a wrong digest is noticed")
  func withoutContent() throws {
    let database = try Database.scratch()
    var record = try Record.fresh("a")
    record["image"] = Asset(digest: [UInt8](repeating: 1, count: 32), byteCount: 5)
    let absent = failure { try database.write { _ = try $0.save(record) } }
    #expect(absent?.code == .assetNotAvailable)
    #expect(absent?.facts.key == "image")
    record["image"] = Asset(digest: [UInt8](repeating: 1, count: 32), byteCount: 1000, content: content)
    let wrong = failure { try database.write { _ = try $0.save(record) } }
    #expect(wrong?.code == .invalidArguments)
    #expect(wrong?.facts.key == "image")
  }

  @Test("encrypted values hold no assets")
  func encrypted() throws {
    let database = try Database.scratch()
    var record = try Record.fresh("a")
    record.encryptedValues["image"] = Asset(data: content)
    let single = failure { try database.write { _ = try $0.save(record) } }
    #expect(single?.code == .invalidArguments)
    #expect(single?.facts.key == "image")
    var other = try Record.fresh("b")
    let list = failure { try other.encryptedValues.set(.assets([]), forKey: "pages") }
    #expect(list?.code == .invalidArguments)
  }

  @Test("a conflict keeps the client's asset as it was set, and brings the server's with its content")
  func conflict() throws {
    let folder = try TemporaryFolder()
    let url = URL(filePath: folder.file("picture.bin"))
    try content.write(to: url)
    let database = try Database.scratch()
    var record = try Record.fresh("a")
    record["image"] = Asset(data: Data([1]))
    let first = try database.write { try $0.save(record) }
    var server = first
    server["image"] = Asset(data: Data([2]))
    server = try database.write { try $0.save(server) }
    var client = first
    client["image"] = try Asset(fileURL: url)
    let error = failure { try database.write { _ = try $0.save(client) } }
    #expect(error?.code == .serverRecordChanged)
    let conflict = try #require(error?.conflict)
    let mine = try #require(conflict.client["image"] as Asset?)
    #expect(mine.fileURL == url && mine.sha256 == nil)
    #expect((conflict.ancestor?["image"] as Asset?)?.data == Data([1]))
    let theirs = try #require(conflict.server?["image"] as Asset?)
    #expect(theirs.data == Data([2]))
    client.rebase(onto: try #require(conflict.server))
    let merged = try database.write { try $0.save(client) }
    #expect((merged["image"] as Asset?)?.data == content)
    try database.expectClean()
  }

  @Test("a feed and a crash give assets back with their content")
  func feedAndCrash() throws {
    let disk = SimulatedDisk(seed: 1)
    let database = try Database.open(on: disk)
    let zone = try database.zone("Pictures")
    var record = try Record.fresh("a", in: zone)
    record["image"] = Asset(data: content)
    try database.write { _ = try $0.save(record) }
    let changes = try database.changes(in: zone, since: nil)
    #expect((changes.saved.first?["image"] as Asset?)?.data == content)
    let next = try Database.open(on: disk.crashed(seed: 1, policy: .none))
    #expect((try next.record(record.id)?["image"] as Asset?)?.data == content)
    try next.expectClean()
    try database.close()
  }
}
