import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

/// Told of a commit after those that test each change, and keeps the group's thread there.
private final class Blocker: ObservationTarget {
  let key: ObservationKey?
  let goOn = DispatchSemaphore(value: 0)
  init(_ id: Record.ID) { key = .record(id) }
  func tell(_ commit: CommitChanges, _ records: [RecordChange]) { if commit.sequence == 3 { goOn.wait() } }
  func tellOfUnknown() {}
  func finish() {}
}

@Suite("observations of a file that was restored")
struct RestoredObservationTests {
  @Test("commits of the other history that are told late are not applied to the restored file")
  func late() async throws {
    let disk = SimulatedDisk(seed: 4)
    let query = Query("Note")
    let database = try now { try Database.open(on: disk, seed: 1) { $0.lock = .perTransaction } }
    try now {
      try database.put("a")
      try database.backup(to: "old.daybook", disk: disk)
    }
    let blocker = Blocker(try Record.ID("r"))
    #expect(database.observations.add(blocker, ObservedQuery(query, desiredKeys: nil, in: database).interest))
    var iterator = database.observeDifferences(query).makeAsyncIterator()
    let hold = DispatchSemaphore(value: 0)
    database.queues.observe { hold.wait() }
    try now {
      try database.put("x")
      try database.put("r")
      try disk.rename("old.daybook", to: "test.daybook")
      try database.refresh()
      try database.put("r")
    }
    let first = try await iterator.next()?.applied(to: [])
    #expect(first?.map(\.id.name) == ["a", "r"])
    let later = Task.detached {
      hold.signal()
      try await Task.sleep(for: .milliseconds(200))
      blocker.goOn.signal()
      try await Task.sleep(for: .milliseconds(100))
      try now { try database.put("end") }
    }
    let second = try await iterator.next()?.applied(to: first ?? [])
    #expect(second?.map(\.id.name) == ["a", "r", "end"])
    blocker.goOn.signal()
    try await later.value
    try now { try database.close() }
  }
}
