import Daybook
import DaybookCoding
import Foundation
import Testing

// What a first app meets: values that are saved, changed and deleted.

@Suite("values saved, changed and deleted")
struct SavedValueTests {
  struct Movie: RecordCodable, Identifiable, Equatable {
    var id: String
    var title: String
    var year: Int?
  }

  struct Tracked: RecordCodable, Equatable {
    static var recordType: String { "Movie" }
    static var recordNameKey: String { "id" }
    var systemFields: Data?
    var id: String
    var title: String
  }

  struct Note: RecordCodable, Identifiable, Equatable {
    var id = UUID()
    var text: String
  }

  struct Poster: RecordCodable, Identifiable, Equatable {
    var id: String
    var systemFields: Data?
    var image: URL?
    var file: Asset?
  }

  private let database: Database
  private let library: Zone.ID

  init() throws {
    database = try Database.inMemory()
    library = try Zone.ID("Library")
    try { [database, library] in try database.save(Zone(library)) }()
  }

  private let movies = [
    Movie(id: "dune", title: "Dune", year: 2021), Movie(id: "alien", title: "Alien", year: 1979), Movie(id: "x", title: "X"),
  ]

  // MARK: many at once

  @Test("an array of values is one commit, and returns its records in order, in each form")
  func arrays() async throws {
    let records = try await database.save(movies, in: library)
    #expect(records.map(\.id.name) == ["dune", "alien", "x"] && records.allSatisfy { $0.id.zone == library })
    func inline() throws {
      let before = try database.statistics().lastSequence
      #expect(try database.save(movies).map(\.id.name) == ["dune", "alien", "x"])
      #expect(try database.statistics().lastSequence == before + 1)
      try database.write { transaction in
        let saved = try transaction.save(movies, in: library, policy: .allKeys)
        #expect(saved.count == 3)
        let none = try transaction.save([Movie]())
        #expect(none.isEmpty)
      }
      #expect(try database.fetchAll(Movie.self, in: library) == movies)
    }
    try inline()
  }

  @Test("of an array all values are saved or none, and each is refreshed")
  func refreshedArrays() async throws {
    var all = [Tracked(id: "a", title: "A"), Tracked(id: "b", title: "B")]
    try await database.save(&all)
    #expect(all.allSatisfy { $0.systemFields != nil })
    for index in all.indices { all[index].title += "2" }
    func inline() throws {
      try database.save(&all)
      try database.write { transaction in try transaction.save(&all) }
      // New ones meet the old ones: none of them is saved.
      let error = #expect(throws: DatabaseError.self) {
        try database.save([Tracked(id: "c", title: "C"), Tracked(id: "a", title: "again")])
      }
      #expect(error?.code == .serverRecordChanged)
      #expect(try database.count(Tracked.self) == 2)
    }
    try inline()
    #expect(try await database.fetchAll(Tracked.self, sort: [.ascending("title")]).map(\.title) == ["A2", "B2"])
  }

  @Test("a save of values says where it comes from")
  func origin() async throws {
    var commits = database.commits(excluding: "editor").makeAsyncIterator()
    try await database.save(movies, origin: "editor")
    try await database.delete(movies[0], origin: "editor")
    try await database.update(Movie.self, "alien", origin: "editor") { $0.year = 1980 }
    try await database.save(movies[2], origin: "import")
    #expect(await commits.next()?.origin == "import")
  }

  // MARK: deleting

  @Test("a value is deleted, by itself and by type and name, in each form")
  func deleting() async throws {
    try await database.save(movies)
    #expect(try await database.delete(movies[0]))
    #expect(try await !database.delete(Movie.self, "dune"))
    #expect(try await database.delete(Movie.self, "alien"))
    func inline() throws {
      #expect(try database.delete(Movie.self, "x"))
      #expect(try !database.delete(movies[2]))
      try database.save(movies, in: library)
      try database.write { transaction in
        let (first, second) = (
          try transaction.delete(movies[0], in: library), try transaction.delete(Movie.self, "alien", in: library)
        )
        #expect(first && second)
      }
      #expect(try database.fetchAll(Movie.self, sort: [], in: nil) == [movies[2]])
      try database.delete(movies, in: library)
      #expect(try database.count(Movie.self, in: nil) == 0)
    }
    try inline()
    var tracked = Tracked(id: "t", title: "T")
    try await database.save(&tracked, in: library)
    // It knows its zone.
    #expect(try await database.delete(tracked))
    #expect(try await database.fetch(Tracked.self, "t", in: library) == nil)
  }

  @Test("what has the name and is of another type is not deleted")
  func otherType() async throws {
    try await database.save(movies[0])
    let error = await #expect(throws: RecordCodingError.self) { try await database.delete(Poster.self, "dune") }
    #expect(error?.code == .recordTypeMismatch && error?.facts.found == "Movie" && error?.facts.name == "dune")
    await #expect(throws: RecordCodingError.self) { try await database.delete(Poster(id: "dune")) }
    #expect(try await database.fetch(Movie.self, "dune") != nil)
  }

  struct Nameless: RecordCodable { var text: String }

  @Test("a value that nothing names is refused, and not deleted in vain")
  func nameless() async throws {
    try await database.save(Nameless(text: "a"))
    let error = await #expect(throws: RecordCodingError.self) { try await database.delete(Nameless(text: "a")) }
    #expect(error?.code == .invalidIdentity && error?.facts.recordType == "Nameless")
  }

  // MARK: names

  struct Entry: RecordCodable, Equatable {
    var recordName = UUID()
    var text: String
  }

  struct Page: RecordCodable, Equatable {
    static let recordNameKey = "number"
    var number: Int
    var text: String
  }

  @Test("a value whose name is a UUID is found by it, whatever the property is called")
  func uuids() async throws {
    let (note, entry) = (Note(text: "a"), Entry(text: "b"))
    try await database.save(note)
    for text in ["b", "c"] { try await database.save(Entry(recordName: entry.recordName, text: text)) }
    #expect(try await database.fetch(Note.self, note.id) == note)
    #expect(try await database.fetchAll(Entry.self) == [Entry(recordName: entry.recordName, text: "c")])
    #expect(try await database.update(Note.self, note.id) { $0.text = "d" }.text == "d")
    var observed = try database.observe(Note.self, note.id).makeAsyncIterator()
    #expect(try await observed.next()??.text == "d")
    #expect(try await database.delete(Note.self, note.id))
    #expect(try await database.delete(Entry.self, entry.recordName))
    for text in ["p", "q"] { try await database.save(Page(number: 7, text: text)) }
    #expect(try await database.fetch(Page.self, 7) == Page(number: 7, text: "q"))
    #expect(try await database.count(Page.self) == 1)
  }

  @Test("an update that changes the identity is refused, and nothing is saved")
  func renaming() async throws {
    try await database.save(movies[0])
    let error = await #expect(throws: RecordCodingError.self) {
      try await database.update(Movie.self, "dune") { movie in
        movie.title = "lost"
        movie.id = "other"
      }
    }
    #expect(error?.code == .invalidIdentity && error?.facts.name == "dune")
    #expect(error?.message.contains("keeps its name") == true)
    #expect(try await database.fetchAll(Movie.self) == [movies[0]])
  }

  @Test("a copy that was given another name is not saved over what it was copied from")
  func renamedCopy() async throws {
    var dune = Tracked(id: "dune", title: "Dune")
    try await database.save(&dune)
    var copy = dune
    copy.id = "dune-2"
    let renamed = copy
    let error = await #expect(throws: RecordCodingError.self) { try await database.save(renamed) }
    #expect(error?.code == .invalidIdentity)
    copy.systemFields = nil
    try await database.save(&copy)
    #expect(try await database.fetchAll(Tracked.self).map(\.id).sorted() == ["dune", "dune-2"])
  }

  // MARK: files

  @Test(
    "a value saved in place has the stored content's file, and is saved again when the first one is gone",
    arguments: [20, 200_000])
  func files(byteCount: Int) async throws {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("saved-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let database = try Database.open(at: directory.appendingPathComponent("posters.daybook").path)
    let content = Data((0..<byteCount).map { UInt8(truncatingIfNeeded: $0 &* 7) })
    let names = ["a.bin", "b.bin", "c.bin"].map { directory.appendingPathComponent($0) }
    for name in names { try content.write(to: name) }
    var poster = Poster(id: "dune", image: names[0])
    try await database.save(&poster)
    try FileManager.default.removeItem(at: names[0])
    let stored = try #require(poster.image)
    #expect(try Data(contentsOf: stored) == content)
    func again() throws {
      poster.file = try Asset(fileURL: names[1])
      try database.save(&poster)
      try FileManager.default.removeItem(at: names[1])
      #expect(poster.file?.sha256 != nil)
      try database.save(&poster)
      var others = [Poster(id: "other", image: names[2])]
      try database.write { transaction in try transaction.save(&others) }
      try FileManager.default.removeItem(at: names[2])
      try database.save(&others)
      let other = try #require(try database.fetch(Poster.self, "other")?.image)
      #expect(try Data(contentsOf: other) == content)
    }
    try again()
    #expect(try await database.check(.deep).isClean)
    try database.close()
  }

  @Test("a list with files made new files each time it was fetched", arguments: [20, 200_000])
  func oneFile(byteCount: Int) throws {
    let folder = try Folder()
    let database = try Database.open(at: folder.url.appending(path: "posters.daybook").path)
    let texts = ["a", "b"].map { String(repeating: $0, count: byteCount) }
    for (name, text) in zip(["a", "b", "c"], texts + [texts[0]]) {
      try database.save(Poster(id: name, image: try folder.file(name, text)))
    }
    var options = RecordCodingOptions()
    options.assetDirectory = folder.url.appending(path: "files")
    func images() throws -> [URL] {
      try database.fetchAll(Poster.self, sort: [.ascending("id")], options: options).map { try #require($0.image) }
    }
    let first = try images()
    #expect(try images() == first)
    // Equal bytes are one file, which is not changed by mistake.
    #expect(first[0] == first[2] && first[0] != first[1])
    #expect(try first.map { try String(contentsOf: $0, encoding: .utf8) } == texts + [texts[0]])
    let mode = try FileManager.default.attributesOfItem(atPath: first[0].path)[.posixPermissions] as? Int
    #expect(mode.map { $0 & 0o222 } == 0)
    // One that was changed or removed all the same is made again.
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: first[0].path)
    try Data("changed".utf8).write(to: first[0])
    try FileManager.default.removeItem(at: first[1])
    #expect(try images().map { try String(contentsOf: $0, encoding: .utf8) } == texts + [texts[0]])
    #expect(try String(contentsOf: first[0], encoding: .utf8) == "changed")
    try database.close()
  }

  @Test(
    "a save that has committed throws nothing when the decoded file cannot be made, and gives the system fields",
    arguments: [false, true])
  func noRoomForFile(isArray: Bool) throws {
    let folder = try Folder()
    let database = try Database.open(at: folder.url.appending(path: "posters.daybook").path)
    var options = RecordCodingOptions()
    // No folder can be made where a file is.
    options.assetDirectory = try folder.file("taken", "x").appending(path: "files")
    let file = try folder.file("a", "small")
    var posters = [Tape(id: "a", sound: file), Tape(id: "b", sound: file)]
    if isArray {
      try database.save(&posters, options: options)
    } else {
      for index in posters.indices { try database.save(&posters[index], options: options) }
    }
    #expect(posters.allSatisfy { $0.systemFields != nil && $0.sound == file })
    // So that the next save is one of the same record.
    try database.save(&posters, options: options)
    #expect(try database.recordCount(in: .default) == 2)
    try database.close()
  }

  // MARK: errors

  @Test("saving a new value over a stored one says what to do")
  func alreadyThere() async throws {
    try await database.save(Tracked(id: "dune", title: "Dune"))
    let error = await #expect(throws: DatabaseError.self) { try await database.save(Tracked(id: "dune", title: "Again")) }
    #expect(error?.code == .serverRecordChanged)
    for hint in ["already exists", "save(&value)", "fetch", "allKeys"] {
      #expect(error?.localizedDescription.contains(hint) == true, "\(hint)")
    }
  }
}

private struct Tape: RecordCodable, Identifiable {
  var id: String
  var sound: URL?
  var systemFields: Data?
}
