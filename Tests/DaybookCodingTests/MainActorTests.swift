import Daybook
import Testing

@testable import DaybookMainActorModels

@Suite("a target on the main actor")
@MainActor
struct MainActorTests {
  @Test("types that are records are not on it, and their values go to the database and back")
  func values() async throws {
    let database = try Database.inMemory()
    let list = MovieList(database)
    let following = Task { try await list.follow(until: 2) }
    try await list.fill()
    try await following.value
    #expect(list.names == ["dune", "alien"])
    #expect(try await list.rename("alien", "Aliens") == "Aliens")
    #expect(try await list.titles(of: 2021) == ["Dune"])
    #expect(try await list.retitle("dune", "Dune: Part One") == "Dune: Part One")
  }
}
