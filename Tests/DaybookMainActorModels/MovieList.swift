import Daybook
import DaybookCoding
import Foundation
import Observation

// What an application writes in a target whose declarations are on the main actor by default. That it compiles is half of the test;
// `MainActorTests` is the other half, in a target that Swift's macros for tests compile in.

enum Kind: String, RecordEnum, CaseIterable {
  case film, serial, unknown
  static var fallback: Kind? { .unknown }
}

nonisolated struct Address: Codable, Equatable {
  var street: String
  var city: String
}

struct Movie: RecordCodable, Identifiable, Equatable {
  nonisolated struct Role: Codable, Equatable { var name: String }

  var id: String
  var title: String
  var year: Int?
  var kind = Kind.film
  var studio = Address(street: "", city: "")
  var roles: [Role] = []
}

nonisolated extension Record.Key where T == String { static var movieTitle: Self { .init("title") } }

@Observable final class MovieList {
  private(set) var movies: [Movie] = []
  private let database: Database

  init(_ database: Database) { self.database = database }

  var names: Set<String> { Set(movies.map(\.id)) }

  func follow(until count: Int) async throws {
    let film = Kind.film
    for try await movies in try database.observe(Movie.self, where: #Predicate { $0.kind == film }) {
      self.movies = movies
      if movies.count == count { return }
    }
  }

  func fill() async throws {
    let dune = Movie(
      id: "dune", title: "Dune", year: 2021, studio: Address(street: "Main", city: "Vienna"), roles: [.init(name: "Paul")])
    try await database.save(dune)
    try await database.save(Movie(id: "alien", title: "Alien"))
    try await database.save(Movie(id: "dark", title: "Dark", kind: .serial))
    if try await database.fetch(Movie.self, "dune") != dune { throw DatabaseError(.internalError) }
  }

  func rename(_ name: String, _ title: String) async throws -> String {
    try await database.update(Movie.self, name) { $0.title = title }.title
  }

  func titles(of year: Int) async throws -> [String] {
    try await database.setIndex([.queryable, .sortable], on: \Movie.year)
    return try await database.fetchAll(Movie.self, where: #Predicate { $0.year == year }).map(\.title)
  }

  func retitle(_ name: String, _ title: String) async throws -> String? {
    try await database.write { transaction in
      guard var record = try transaction.record(Record.ID(name)) else { return nil }
      record[.movieTitle] = title
      try transaction.save(record)
      return try transaction.fetch(Movie.self, name)?.title
    }
  }
}
