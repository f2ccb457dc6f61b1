import Foundation
import Testing

import Daybook

// The code of README.md and Examples/Guide.md. What lies between the marks below is compared with the text of the page.

/// Lets the samples open files by their plain names, in a directory of their own.
private struct Database {
  @TaskLocal static var directory = FileManager.default.temporaryDirectory

  static func open(at path: String) throws -> Daybook.Database {
    try Daybook.Database.open(at: directory.appending(path: path))
  }

  /// Runs a sample in an empty directory.
  static func inDirectory(_ body: () async throws -> Void) async throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: "daybook-readme-\(UUID())")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    try await $directory.withValue(directory) { try await body() }
  }
}

// README: keys
extension Record.Key where T == String { static var movieTitle: Self { .init("title") } }
extension Record.Key where T == Int { static var movieYear: Self { .init("year") } }
// README: end

// Comments of samples are in a column of their own, which the formatter would not let them.
@Suite("README.md")
struct ReadmeTests {
  // MARK: the samples

  // swift-format-ignore
  private func first() throws {
    // README: first
    let database = try Database.open(at: "movies.daybook")         // created if it does not exist
    let library = try Zone.ID("Library")
    let dune = try Record.ID("dune", in: library)

    try database.write { transaction in                            // all of it or nothing
      try transaction.save(Zone(library))
      var movie = try Record(type: "Movie", id: dune)
      movie["title"] = "Dune"                                      // literals and Swift values convert
      movie["year"] = 2021
      movie["genres"] = ["science fiction", "drama"]
      movie["location"] = Location(latitude: 29.6, longitude: 35.4)
      try transaction.save(movie)
    }                                                              // here it is on the disk

    let movie = try database.record(dune)
    let year: Int? = movie?["year"]                                // nil when absent or of another kind
    // README: end
    #expect(year == 2021 && movie?.keys.count == 4)
    try second(database, library, dune)
  }

  // swift-format-ignore
  private func second(_ database: Daybook.Database, _ library: Zone.ID, _ dune: Record.ID) throws {
    // README: changes
    var token: ChangeToken?                                        // keep token.data; nil starts at the beginning
    repeat {
      let page = try database.changes(in: library, since: token)
      for record in page.saved { print("saved", record.id.name, record[.movieTitle] ?? "–") }
      for deletion in page.deleted { print("deleted", deletion.id.name, deletion.type) }
      token = page.token
      if !page.moreComing { break }
    } while true
    // README: end
    #expect(try database.changes(in: library, since: token).saved.isEmpty)

    // README: conflict
    guard var mine = try database.record(dune), var theirs = try database.record(dune) else { return }
    theirs[.movieTitle] = "Dune: Part One"
    try database.write { [theirs] transaction in try transaction.save(theirs) }

    mine[.movieYear] = 2022
    do {
      try database.write { [mine] transaction in try transaction.save(mine) }
    } catch let error as DatabaseError where error.code == .serverRecordChanged {
      guard let current = error.conflict?.server else { throw error }
      mine.rebase(onto: current)                                   // their title, my year
      try database.write { [mine] transaction in try transaction.save(mine) }
    }
    // README: end
    let merged = try database.record(dune)
    #expect(merged?[.movieTitle] == "Dune: Part One" && merged?[.movieYear] == 2022)

    let photo = Database.directory.appending(path: "poster.jpg")
    try Data(count: 100_000).write(to: photo)
    // README: assets
    var poster = try Record(type: "Poster", id: Record.ID("dune-poster", in: library))
    poster["image"] = try Asset(fileURL: photo)
    poster = try database.prepare(poster)                          // copied and hashed before the transaction
    try database.write { [poster] transaction in try transaction.save(poster) }

    let image: Asset? = try database.record(poster.id)?["image"]
    let bytes = try image?.content()                               // verified; image?.fileURL is a copy for other programs
    // README: end
    #expect(try database.storedAssets().map(\.byteCount) == [100_000])
    #expect(bytes == Data(count: 100_000) && image?.fileURL != nil)

    // README: snapshot
    try database.read { snapshot in                                // one moment, whatever is written meanwhile
      let movies = try snapshot.records(in: library, ofType: "Movie", limit: 100)
      let count = try snapshot.recordCount(in: library)            // a few page visits, whatever the number
      print("\(movies.count) of \(count)")
    }
    for version in try database.history(of: dune) { print(version.date, version.changeTag) }
    // README: end
    #expect(try database.history(of: dune).count == 3)

    // README: references
    try database.write { transaction in
      var review = try Record(type: "Review", id: Record.ID("first", in: library))
      review["movie"] = Record.Reference(dune, action: .deleteSelf)   // deleted with the movie, in the same commit
      try transaction.save(review)
    }
    let reviews = try database.referencing(dune).map(\.id.name)    // ["first"]
    // README: end
    #expect(reviews == ["first"])
  }

  // swift-format-ignore
  private func guide(_ database: Daybook.Database, _ library: Zone.ID, _ dune: Record.ID) throws {
    // Guide: lines
    var note = try database.save(Record(type: "Note", id: Record.ID("n", in: library)))   // one line, one transaction
    note = try database.update(note.id) { note in note["seen"] = Date() }   // read, changed and saved: never a conflict
    let old = try database.record(note.id, withChangeTag: note.changeTag ?? "")   // an older version, as the base of a merge
    let latest = try database.history(of: note.id, limit: 20)                    // a page of versions, newest first
    let before = try database.history(of: note.id, before: latest.last?.changeTag, limit: 20)
    try database.save(note, policy: .replace)                      // what is stored becomes this, and has no other keys
    try database.writeUnordered { transaction in                   // children may come commits before their parents
      var child = try Record(type: "Note", id: Record.ID("child", in: library))
      child.parent = Record.Reference(try Record.ID("later", in: library))
      try transaction.save(child)
    }
    let missing = try database.referencesWithoutTarget(in: library)   // child needs later
    // Guide: end
    #expect(old == note && missing.map(\.target.name) == ["later"])
    #expect(latest.count == 2 && before.isEmpty)
    try database.delete([note.id, Record.ID("child", in: library)])

    // Guide: savepoint
    try database.write { transaction in
      try? transaction.savepoint {                                 // undone alone when it throws
        try transaction.delete(dune)
        throw CancellationError()
      }
      try transaction.setMetadata(Data("v2".utf8), forKey: "schema")
    }
    // Guide: end
    #expect(try database.record(dune) != nil && database.metadata(forKey: "schema") == Data("v2".utf8))

    // Guide: references
    try database.write { transaction in
      let shelf = try Record(type: "Shelf", id: Record.ID("films", in: library))
      var review = try Record(type: "Review", id: Record.ID("first", in: library))
      review.parent = Record.Reference(shelf)                      // must exist in the end, in whatever order they are saved
      review["movie"] = Record.Reference(dune, action: .deleteSelf)   // deleted with the movie, in the same commit
      review.encryptedValues["note"] = "no query sees this"
      try transaction.save(review)
      try transaction.save(shelf)
    }
    let reviews = try database.referencing(dune).map(\.id.name)    // ["first"]
    let fields = try database.schema()["Review"]?.fields           // movie: reference, note: string, encrypted
    try database.write { transaction in try transaction.delete(dune) }
    // Guide: end
    #expect(reviews == ["first"] && fields?.map(\.key) == ["movie", "note"] && fields?.last?.isEncrypted == true)
    #expect(try database.record(dune) == nil && database.records(in: library, ofType: "Review").isEmpty)

    let directory = Database.directory
    // Guide: container
    let container = try Container.open("iCloud.com.example.Movies", in: directory)
    try container.privateDatabase.write { transaction in try transaction.save(Zone(library)) }
    var user = try container.privateDatabase.userRecord()          // type Users, one name in all of the container
    user["nickname"] = "Ada"
    try container.privateDatabase.write { [user] transaction in try transaction.save(user) }
    // Guide: end
    #expect(try container.privateDatabase.userRecord()["nickname"] == "Ada")
    try container.close()
  }

  // swift-format-ignore
  private func asynchronous(_ database: Daybook.Database, _ library: Zone.ID) async throws {
    // README: async
    let commits = database.commits(excluding: "editor")            // from now on, without one's own
    try await database.write(origin: "import") { transaction in
      try transaction.save(Record(type: "Movie", id: Record.ID("alien", in: library)))
    }
    for await notice in commits {
      print("commit \(notice.sequence) saved \(notice.saved.count) records")
      break
    }
    for try await page in database.changePages(in: library, since: nil) {
      print(page.saved.map(\.id.name))                             // ends when the feed is drained
    }
    // README: end
  }

  // MARK: the tests

  @Test("the tour does what the README says")
  func tour() async throws {
    try await Database.inDirectory { try first() }
  }

  @Test("the guide does what it says")
  func guideTour() async throws {
    try await Database.inDirectory {
      let database = try Database.open(at: "movies.daybook")
      let library = try Zone.ID("Library")
      let dune = try Record.ID("dune", in: library)
      try database.write { transaction in
        try transaction.save(Zone(library))
        try transaction.save(Record(type: "Movie", id: dune))
      }
      try guide(database, library, dune)
    }
  }

  @Test("the asynchronous part of the tour does what the README says", .timeLimit(.minutes(15)))
  func asynchronousTour() async throws {
    try await Database.inDirectory {
      let database = try Database.open(at: "movies.daybook")
      let library = try Zone.ID("Library")
      try await database.write { transaction in try transaction.save(Zone(library)) }
      try await asynchronous(database, library)
      let alien = try await database.record(Record.ID("alien", in: library))
      #expect(alien != nil)
    }
  }

  @Test(
    "a page has these samples, letter by letter, and no others",
    arguments: [("README.md", "// README: ", 8), ("Examples/Guide.md", "// Guide: ", 4)])
  func samples(path: String, mark: String, count: Int) throws {
    let page = try String(contentsOf: Pages.root.appending(path: path), encoding: .utf8)
    var blocks: Set<String> = []
    for block in page.components(separatedBy: "```swift\n").dropFirst() {
      blocks.insert(block.components(separatedBy: "\n```")[0])
    }
    var sample: [Substring] = []
    var name: Substring?
    var found = 0
    let file = try String(contentsOf: URL(filePath: #filePath), encoding: .utf8)
    for line in file.split(separator: "\n", omittingEmptySubsequences: false) {
      let words = line.drop { $0 == " " }
      if words.hasPrefix(mark) {
        if let name {
          let indent = sample.filter { !$0.isEmpty }.map { $0.prefix { $0 == " " }.count }.min() ?? 0
          let text = sample.map { String($0.dropFirst(indent)) }.joined(separator: "\n")
          #expect(blocks.remove(text) != nil, "sample \(name):\n\(text)")
          found += 1
        }
        name = words == "\(mark)end" ? nil : words.dropFirst(mark.count)
        sample = []
      } else if name != nil {
        sample.append(line)
      }
    }
    #expect(found == count)
    // The package manifest of an application cannot be compiled here.
    #expect(blocks.allSatisfy { $0.hasPrefix("dependencies: [.package(") }, "code that no test compiles: \(blocks)")
  }
}
