import Foundation
import Testing

@testable import Daybook

// One test for each row of the source documents that this part of the library answers; the row's id is in the name.

@Suite("capabilities")
struct CapabilityTests {
  @Test("A9: all zones can be listed")
  func a9() throws {
    let database = try Database.inMemory()
    #expect(try database.zones() == [Zone(.default)])
    let ids = try ["Work", "Home", "Été"].map { try Zone.ID($0) }
    try database.write { transaction in for id in ids { try transaction.save(Zone(id)) } }
    #expect(try Set(database.zones().map(\.id)) == Set(ids + [.default]))
    try database.write { try $0.deleteZone(ids[0]) }
    #expect(try Set(database.zones().map(\.id)) == Set(ids.dropFirst() + [.default]))
  }

  @Test("A10: a record is a type and a dictionary, and its fields appear with the first save")
  func a10() throws {
    let database = try Database.inMemory()
    var record = try Record(type: "Movie", id: Record.ID("dune"))
    record["title"] = "Dune"
    try database.write { [record] in try $0.save(record) }
    var stored = try #require(try database.record(record.id))
    #expect(stored.type == "Movie" && stored.keys == ["title"])
    stored["year"] = 2021
    stored["cast"] = ["Timothée Chalamet", "Zendaya"]
    try database.write { [stored] in try $0.save(stored) }
    let again = try #require(try database.record(record.id))
    #expect(again.keys == ["cast", "title", "year"])
    #expect(again["year"] == 2021 && again["title"] == "Dune")
    #expect(try database.recordTypes(in: .default).map(\.type) == ["Movie"])
  }

  /// An application's model, a value.
  private struct Movie: Equatable {
    var name: String
    var title: String
    var year: Int?

    init(name: String, title: String, year: Int?) {
      self.name = name
      self.title = title
      self.year = year
    }

    init(_ record: Record) throws {
      name = record.id.name
      title = try record.value(String.self, forKey: "title")
      year = record["year"]
    }

    func write(to record: inout Record) {
      record["title"] = title
      record["year"] = year
    }
  }

  @Test("A13: an application's values are made into records and back, and never change behind its back")
  func a13() throws {
    let database = try Database.inMemory()
    var movie = Movie(name: "dune", title: "Dune", year: 1984)
    var record = try Record(type: "Movie", id: Record.ID(movie.name))
    movie.write(to: &record)
    try database.write { [record] in try $0.save(record) }
    let read = try Movie(#require(try database.record(record.id)))
    #expect(read == movie)
    movie.year = nil
    var known = try #require(try database.record(record.id))
    let copy = known
    movie.write(to: &known)
    try database.write { [known] in try $0.save(known) }
    #expect(try Movie(#require(try database.record(record.id))) == movie)
    #expect(try Movie(copy) == read, "an earlier copy is still what it was")
  }

  @Test("A20: save creates or updates, and sends only the fields changed since the last save")
  func a20() throws {
    let database = try Database.inMemory()
    var first = try Record(type: "Movie", id: Record.ID("dune"))
    first["title"] = "Dune"
    first["year"] = 1984
    let created = try database.write { [first] in try $0.save(first) }
    #expect(created.metadata != nil && created.changedKeys.isEmpty)
    var mine = created
    var theirs = created
    theirs["year"] = 2021
    let updated = try database.write { [theirs] in try $0.save(theirs) }
    mine["title"] = "Dune: Part One"
    #expect(mine.changedKeys == ["title"])
    let merged = try database.write { [mine] in try $0.save(mine, policy: .changedKeys) }
    #expect(merged["title"] == "Dune: Part One" && merged["year"] == 2021, "the old year was not sent")
    #expect(merged.metadata?.changeTag != updated.metadata?.changeTag)
    #expect(try database.recordCount(in: .default) == 1)
  }

  @Test("A21: a record is fetched by its ID")
  func a21() throws {
    let database = try Database.inMemory()
    let zone = try Zone.ID("Library")
    let id = try Record.ID("dune", in: zone)
    let saved = try database.write { transaction in
      try transaction.save(Zone(zone))
      return try transaction.save(Record(type: "Movie", id: id))
    }
    #expect(try database.record(id) == saved)
    #expect(try database.record(Record.ID("dune")) == nil, "the zone is part of the ID")
    let found = try database.records(for: [id, Record.ID("none", in: zone)])
    let fetched = try found[id]?.get()
    #expect(fetched == saved)
    let missing = failure { try found[Record.ID("none", in: zone)]?.get() }
    #expect(missing?.code == .unknownItem)
  }

  @Test("A11: an asset is a value like others, alone or in a list, and no list mixes it with others")
  func a11Assets() throws {
    let database = try Database.inMemory(
      options: {
        var options = Database.Options(); options.inlineAssetByteCount = 0; return options
      }())
    let (cover, page) = (Data("cover".utf8), Data("page".utf8))
    var record = try Record(type: "Book", id: Record.ID("dune"))
    record["cover"] = Asset(data: cover)
    record["pages"] = [Asset(data: page), Asset(data: cover)]
    try database.write { [record] in try $0.save(record) }
    let stored = try #require(try database.record(record.id))
    #expect(try (stored["cover"] as Asset?)?.content() == cover)
    #expect(try (stored["pages"] as [Asset]?)?.map { try $0.content() } == [page, cover])
    #expect(stored["cover"] as String? == nil && stored["cover"] as Data? == nil && stored["cover"] as [Asset]? == nil)
    record.encryptedValues["cover"] = Asset(data: cover)
    #expect(failure { try database.write { [record] in try $0.save(record, policy: .allKeys) } }?.code == .invalidArguments)
    let report = try database.check(.deep)
    #expect(report.isClean && report.assetCount == 2)
  }

  @Test("A19: only a file URL makes an asset, anything else is an error and no crash, and the file travels with the save")
  func a19() throws {
    let folder = try TemporaryFolder()
    let photo = URL(filePath: folder.file("photo.jpg"))
    try Data(repeating: 7, count: 100_000).write(to: photo)
    for text in ["https://example.com/photo.jpg", "data:,photo", "photo.jpg"] {
      let url = try #require(URL(string: text))
      #expect(failure { try Asset(fileURL: url) }?.code == .invalidArguments, "\(text)")
    }
    #expect(failure { try Asset(fileURL: URL(filePath: folder.file("none.jpg"))) }?.code == .assetFileNotFound)
    #expect(failure { try Asset(fileURL: URL(filePath: folder.path)) }?.code == .invalidArguments)
    let database = try Database.open(at: folder.file("a.daybook"))
    var record = try Record(type: "Photo", id: Record.ID("one"))
    record["image"] = try Asset(fileURL: photo)
    #expect(record.encodedByteCount < 200, "the content is not in the record")
    let saved = try database.write { [record] in try $0.save(record) }
    try FileManager.default.removeItem(at: photo)
    let image = try #require(saved["image"] as Asset?)
    #expect(image.data == nil && image.byteCount == 100_000)
    #expect(try Data(contentsOf: #require(image.fileURL)) == Data(repeating: 7, count: 100_000))
    let report = try database.check(.deep)
    #expect(report.isClean && report.assetCount == 1)
  }
}
