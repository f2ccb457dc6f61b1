import Foundation
import Testing

import Daybook

// The code of the README, as it stands there. What lies between the marks below is compared with the README's text.

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

// Comments of samples stand in a column of their own, which the formatter would not let them.
@Suite("README.md")
struct ReadmeTests {
  // MARK: the samples

  // swift-format-ignore
  private func first() throws {
    // README: first
    let database = try Database.open(at: "movies.daybook")         // made when it is not there
    let library = try Zone.ID("Library")

    try database.write { transaction in                            // all of it or nothing
      try transaction.save(Zone(library))
      var movie = try Record(type: "Movie", id: Record.ID("dune", in: library))
      movie["title"] = "Dune"                                      // literals and Swift values convert
      movie["year"] = 2021
      movie["genres"] = ["science fiction", "drama"]
      movie["location"] = Location(latitude: 29.6, longitude: 35.4)
      try transaction.save(movie)
    }                                                              // here it is on the disk

    let dune = try database.record(Record.ID("dune", in: library))
    let year: Int? = dune?["year"]                                 // nil when absent or of another kind
    // README: end
    #expect(year == 2021 && dune?.keys.count == 4)
    try second(database, library)
  }

  // swift-format-ignore
  private func second(_ database: Daybook.Database, _ library: Zone.ID) throws {
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

    let dune = try Record.ID("dune", in: library)
    // README: conflict
    guard var mine = try database.record(dune), var theirs = try database.record(dune) else { return }
    theirs[.movieTitle] = "Dune: Part One"
    try database.write { transaction in try transaction.save(theirs) }

    mine[.movieYear] = 2022
    do {
      try database.write { transaction in try transaction.save(mine) }
    } catch let error as DatabaseError where error.code == .serverRecordChanged {
      guard let current = error.conflict?.server else { throw error }
      mine.rebase(onto: current)                                   // their title, my year
      try database.write { transaction in try transaction.save(mine) }
    }
    // README: end
    let merged = try database.record(dune)
    #expect(merged?[.movieTitle] == "Dune: Part One" && merged?[.movieYear] == 2022)

    let photo = Database.directory.appending(path: "poster.jpg")
    try Data(count: 100_000).write(to: photo)
    // README: assets
    var poster = try Record(type: "Poster", id: Record.ID("dune-poster", in: library))
    poster["image"] = try Asset(fileURL: photo)                    // nothing is read yet
    poster = try database.prepare(poster)                          // copied and hashed before the transaction: nobody waits for it
    try database.write { [poster] transaction in try transaction.save(poster) }

    if let image: Asset = try database.record(poster.id)?["image"] {
      let bytes = try image.content()                              // verified; an error here is this field's alone
      print(bytes.count, image.sha256 ?? "", image.fileURL?.path ?? "")   // a copy for others to read
    }
    // README: end
    #expect(try database.storedAssets().map(\.byteCount) == [100_000])

    // README: snapshot
    try database.read { snapshot in                                // one moment, whatever is written meanwhile
      let movies = try snapshot.records(in: library, ofType: "Movie", limit: 100)
      let count = try snapshot.recordCount(in: library)            // a few page visits, whatever the number
      print("\(movies.count) of \(count)")
    }

    try database.write { transaction in
      try? transaction.savepoint {                                 // goes back alone when it throws
        try transaction.delete(dune)
        throw CancellationError()
      }
      try transaction.setMetadata(Data("v2".utf8), forKey: "schema")   // same commit, in no change feed
    }
    for version in try database.history(of: dune) { print(version.date, version.changeTag) }
    // README: end
    #expect(try database.record(dune) != nil && database.metadata(forKey: "schema") == Data("v2".utf8))
    #expect(try database.history(of: dune).count == 3)
    try third(database, library, dune)
  }

  // swift-format-ignore
  private func third(_ database: Daybook.Database, _ library: Zone.ID, _ dune: Record.ID) throws {
    // README: references
    try database.write { transaction in
      let shelf = try Record(type: "Shelf", id: Record.ID("films", in: library))
      var review = try Record(type: "Review", id: Record.ID("first", in: library))
      review.parent = Record.Reference(shelf)                      // must exist in the end, in whatever order they are saved
      review["movie"] = Record.Reference(dune, action: .deleteSelf)   // goes with the movie, in the same commit
      review.encryptedValues["note"] = "no query sees this"
      try transaction.save(review)
      try transaction.save(shelf)
    }
    let reviews = try database.referencing(dune).map(\.id.name)    // ["first"]
    let fields = try database.schema()["Review"]?.fields           // movie: reference, note: string, encrypted
    try database.write { transaction in try transaction.delete(dune) }
    // README: end
    #expect(reviews == ["first"] && fields?.map(\.key) == ["movie", "note"] && fields?.last?.isEncrypted == true)
    #expect(try database.record(dune) == nil && database.records(in: library, ofType: "Review").isEmpty)

    let directory = Database.directory
    // README: container
    let container = try Container.open("iCloud.com.example.Movies", in: directory)
    try container.privateDatabase.write { transaction in try transaction.save(Zone(library)) }
    var user = try container.privateDatabase.userRecord()          // type Users, one name in all of the container
    user["nickname"] = "Ada"
    try container.privateDatabase.write { transaction in try transaction.save(user) }
    // README: end
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

  @Test("the asynchronous part of the tour does what the README says", .timeLimit(.minutes(5)))
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

  @Test("the README has these samples, letter by letter")
  func samples() throws {
    let file = URL(filePath: #filePath)
    let root = file.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    let readme = try String(contentsOf: root.appending(path: "README.md"), encoding: .utf8)
    var sample: [Substring] = []
    var name: Substring?
    var count = 0
    for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n", omittingEmptySubsequences: false) {
      let mark = "// README: "
      let words = line.drop { $0 == " " }
      if words.hasPrefix(mark) {
        if let name {
          let indent = sample.filter { !$0.isEmpty }.map { $0.prefix { $0 == " " }.count }.min() ?? 0
          let text = sample.map { String($0.dropFirst(indent)) }.joined(separator: "\n")
          #expect(readme.contains("```swift\n\(text)\n```"), "sample \(name):\n\(text)")
          count += 1
        }
        name = words == "// README: end" ? nil : words.dropFirst(mark.count)
        sample = []
      } else if name != nil {
        sample.append(line)
      }
    }
    #expect(count == 9)
  }
}
