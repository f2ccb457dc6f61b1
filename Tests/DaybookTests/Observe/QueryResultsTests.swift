import Foundation
import Observation
import Testing

@testable import Daybook

// The result of a query as user interfaces see it.

@MainActor @Suite("results for user interfaces", .timeLimit(.minutes(15)))
struct QueryResultsTests {
  private func until(_ condition: () -> Bool) async {
    while !condition() { await Task.yield() }
  }

  @Test("a change of the database is a change of the records, of which observers are told")
  func tracking() async throws {
    let database = try Database.scratch()
    try now { try database.put("a", ["n": 1]) }
    let results = QueryResults(Query("Note", sort: [.ascending("n")]), in: database)
    #expect(results.isLoading && results.records.isEmpty)
    await until { !results.isLoading }
    #expect(results.records.map(\.id.name) == ["a"])
    await confirmation { told in
      withObservationTracking {
        _ = results.records
      } onChange: {
        told()
      }
      now { _ = try? database.put("b", ["n": 0]) }
      await until { results.records.count == 2 }
    }
    #expect(results.records.map(\.id.name) == ["b", "a"])
  }

  @Test("another query replaces the one before; an error is shown, and goes with the next query")
  func replacing() async throws {
    let database = try Database.scratch()
    try now { for number in 1...4 { try database.put("n\(number)", ["n": .int(Int64(number))]) } }
    let results = QueryResults(Query("Note"), in: database)
    await until { results.records.count == 4 }
    results.query.predicate = .field("n") > 2
    await until { results.records.count == 2 }
    results.query.limit = 0
    await until { results.error != nil }
    #expect((results.error as? DatabaseError)?.code == .invalidArguments && !results.isLoading)
    results.query.limit = 1
    await until { results.records.count == 1 }
    #expect(results.error == nil)
  }

  @Test("when the database is closed it says so, before the first result and after")
  func closing() async throws {
    let database = try Database.scratch()
    try now { try database.put("a", ["n": 1]) }
    let results = QueryResults(Query("Note"), in: database)
    await until { !results.isLoading }
    try now { try database.close() }
    await until { results.error != nil }
    #expect((results.error as? DatabaseError)?.code == .closed && !results.isLoading && results.records.count == 1)
    let late = QueryResults(Query("Note"), in: database)
    await until { late.error != nil }
    #expect((late.error as? DatabaseError)?.code == .closed && !late.isLoading)
  }

  @Test("released, it observes nothing more")
  func release() async throws {
    let database = try Database.scratch()
    try now { try database.put("a", ["n": 1]) }
    var results: QueryResults? = QueryResults(Query("Note"), in: database)
    await until { results?.isLoading == false }
    #expect(database.observations.groupCount == 1)
    results = nil
    await until { database.observations.groupCount == 0 }
  }
}
