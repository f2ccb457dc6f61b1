import Daybook
import DaybookTesting
import Foundation
import Testing

@Suite("a database whose calls fail when a test says so")
struct FaultInjectingDatabaseTests {
  private let local: Database
  private let server: FaultInjectingDatabase

  init() throws {
    local = try Database.inMemory()
    server = FaultInjectingDatabase(local)
  }

  private func save(_ name: String) async throws {
    let result = try await server.modify(
      saving: [Record(type: "Note", id: Record.ID(name))], deleting: [], policy: .allKeys, atomically: false)
    for saved in result.saved.values { _ = try saved.get() }
  }

  private func code(_ body: () async throws -> Void) async -> DatabaseError.Code? {
    do { try await body() } catch let error as DatabaseError { return error.code } catch { Issue.record(error) }
    return nil
  }

  @Test("a request that is lost did nothing, and an answer that is lost did all")
  func losses() async throws {
    server.fail(.modify)
    #expect(await code { try await save("a") } == .networkFailure)
    #expect(try await local.recordCount(in: .default) == 0)
    server.fail(.modify, with: DatabaseError(.serviceUnavailable), losing: .answer)
    #expect(await code { try await save("a") } == .serviceUnavailable)
    #expect(try await local.recordCount(in: .default) == 1)
    try await save("b")
    #expect(server.calls == [.modify, .modify, .modify])
  }

  @Test("failures are of the calls that were named, after those that are let through, and as many as were asked for")
  func counts() async throws {
    server.fail(.modify, skipping: 1, count: 2)
    server.fail(.zones, count: .max)
    var codes: [DatabaseError.Code?] = []
    for number in 0..<5 {
      codes.append(await code { try await save("r\(number)") })
      codes.append(await code { _ = try await server.zones() })
      _ = try await server.records(for: [Record.ID("r0")])
    }
    #expect(
      codes == [
        nil, .networkFailure, .networkFailure, .networkFailure, .networkFailure, .networkFailure, nil, .networkFailure, nil,
        .networkFailure,
      ])
    server.stopFailing()
    #expect(try await server.zones().map(\.id) == [.default])
    // Nothing is asked for.
    server.fail(count: 0)
    server.fail(count: -1)
    try await save("last")
    #expect(try await local.recordCount(in: .default) == 4)
  }

  @Test("every call passes on what it was given, and fails where all do")
  func allCalls() async throws {
    let zone = try Zone.ID("Library")
    let id = try Record.ID("note", in: zone)
    func callAll() async -> [DatabaseError.Code?] {
      let subscription = Subscription("s", to: Query("Note"))
      return [
        await code { _ = try await server.accountStatus() },
        await code { _ = try await server.modifyZones(saving: [Zone(zone)], deleting: []) },
        await code {
          var record = try Record(type: "Note", id: id)
          record["image"] = Asset(data: Data([1, 2, 3]))
          try await server.modify(saving: [record], deleting: [], policy: .allKeys, atomically: true)
        },
        await code { _ = try await server.records(for: [id]) },
        await code { _ = try await server.query(Query("Note", in: zone)) },
        await code { _ = try await server.zones() },
        await code { _ = try await server.changes(in: zone, since: nil) },
        await code { _ = try await server.asset("image", of: id) },
        await code { _ = try await server.databaseChanges(since: nil) },
        await code { try await server.modifySubscriptions(saving: [subscription], deleting: []) },
        await code { _ = try await server.subscriptions() },
      ]
    }
    #expect(await callAll().allSatisfy { $0 == nil })
    #expect(Set(server.calls) == Set(FaultInjectingDatabase.Call.allCases))
    #expect(try await local.recordCount(in: zone) == 1)
    #expect(try await local.subscriptions().map(\.id) == ["s"])
    server.fail(count: .max, with: DatabaseError(.requestRateLimited))
    #expect(await callAll().allSatisfy { $0 == .requestRateLimited })
    #expect(server.limits.itemsPerRequest == local.limits.itemsPerRequest)
    server.stopFailing()
    server.status = .noAccount
    #expect(try await server.accountStatus() == .noAccount)
  }

  @Test("a call that waits ends when its task is cancelled, and did nothing")
  func delays() async throws {
    server.delay(.modify, by: .seconds(600))
    let task = Task { try await save("a") }
    while server.calls.isEmpty { await Task.yield() }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try await local.recordCount(in: .default) == 0)
    server.delay(by: .milliseconds(1))
    try await save("a")
    #expect(try await local.recordCount(in: .default) == 1)
  }
}
