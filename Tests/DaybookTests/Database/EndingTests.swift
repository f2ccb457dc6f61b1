import DaybookEngine
import DaybookTesting
import Dispatch
import Foundation
import Testing

@testable import Daybook

/// What ends a database, or its writing.
enum Ending: CaseIterable, Sendable {
  case close, suspend, failedSync, fullDisk
}

@Suite("what each caller is told when a database ends, is suspended, or its disk fails", .timeLimit(.minutes(15)))
struct EndingTests {
  /// What another thread or task was told, once it was.
  private final class Caller: Sendable {
    private let done = DispatchSemaphore(value: 0)
    private let text = Locked("")

    init(onThread work: @escaping @Sendable () throws -> Void) {
      Thread.detachNewThread { [self] in finish(Result(catching: work)) }
    }

    init(inTask work: @escaping @Sendable () async throws -> Void) {
      Task {
        do {
          try await work()
          finish(.success(()))
        } catch { finish(.failure(error)) }
      }
    }

    private func finish(_ result: Result<Void, any Error>) {
      text.withLock { $0 = word(of: result) }
      done.signal()
    }

    func told() -> String {
      done.wait()
      return text.withLock { $0 }
    }
  }

  /// More than a full disk has room for.
  private static let values: [String: Record.Value] = ["text": .string(String(repeating: "x", count: 100_000))]

  private func told(_ work: () throws -> Void) -> String {
    do { try work() } catch { return word(of: .failure(error)) }
    return word(of: .success(()))
  }

  @Test("threads that suspend and resume leave what works in the background as the last of them left the file")
  func suspendBesideResume() throws {
    let folder = try TemporaryFolder()
    let database = try Database.withFiles(at: folder.file("a"))
    for _ in 0..<300 {
      let suspending = Caller(onThread: { try database.suspend() })
      let resuming = Caller(onThread: { try database.resume() })
      _ = (suspending.told(), resuming.told())
      let isSuspended = told { try database.save(.fresh(UUID().uuidString)) } != "done"
      #expect(database.library.mayCollect != isSuspended)
      #expect(database.stores.endRequests.isSuspending == isSuspended)
      try database.resume()
      #expect(database.library.mayCollect)
    }
    try database.close()
  }

  /// Signals when it has the turn, and keeps it until it may go on.
  private static func write(_ database: Database, _ hasTurn: DispatchSemaphore, _ goesOn: DispatchSemaphore) throws {
    try database.write { transaction in
      try transaction.save(.fresh("under way", values))
      hasTurn.signal()
      goesOn.wait()
    }
  }

  /// The cells of a column, from the first row down.
  private func column(_ ending: Ending) throws -> [String] {
    let disk = SimulatedDisk(seed: 5)
    let database = try Database.open(on: disk)
    try database.put("a")
    let snapshot: Snapshot = try database.snapshot()
    let id = try Record.ID("a")
    // While one write has the turn, others wait for it.
    let (hasTurn, goesOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let writing = Caller(onThread: { try Self.write(database, hasTurn, goesOn) })
    hasTurn.wait()
    let waiting = Caller(onThread: { try database.put("waiting", Self.values) })
    let task = Caller(inTask: { _ = try await database.save(.fresh("task", Self.values)) })
    Thread.sleep(forTimeInterval: 0.1)
    var ends: Caller?
    switch ending {
    case .close: ends = Caller(onThread: { try database.close() })
    case .suspend: ends = Caller(onThread: { try database.suspend() })
    case .failedSync: disk.inject(SimulatedFault([.sync], call: 1))
    case .fullDisk: disk.limit(toByteCount: 1)
    }
    Thread.sleep(forTimeInterval: 0.1)
    goesOn.signal()
    var cells = [writing.told(), waiting.told(), task.told()]
    if let ends { #expect(ends.told() == "done") }
    cells.append(told { try database.put("later", Self.values) })
    cells.append(told { _ = try database.record(id) })
    cells.append(told { _ = try snapshot.record(id) })
    return cells
  }

  @Test("it is what the guide's table says")
  func table() throws {
    let columns = try Ending.allCases.map { try column($0) }
    let guide = try String(contentsOf: Pages.root.appending(path: "Examples/Guide.md"), encoding: .utf8)
    let lines = guide.components(separatedBy: "\n")
    let rows = [
      "a write under way", "a write that waits for its turn", "an asynchronous one", "a later write", "a read", "a snapshot",
    ]
    for (row, name) in rows.enumerated() {
      let line = try #require(lines.first { $0.hasPrefix("| \(name) |") }, "\(name)")
      let cells = line.split(separator: "|").dropFirst().map { $0.trimmingCharacters(in: .whitespaces) }
      try #require(cells.count == columns.count, "\(line)")
      for (column, cell) in zip(columns, cells) {
        #expect(cell.split(separator: ", ").contains { $0 == column[row] }, "\(line)")
      }
    }
  }

  @Test("streams end with the database, and only then")
  func streams() async throws {
    for ending in Ending.allCases {
      let disk = SimulatedDisk(seed: 5)
      let database = try now { try Database.open(on: disk) }
      var commits = database.commits().makeAsyncIterator()
      var counts = database.observeCount(Query("Note")).makeAsyncIterator()
      #expect(try await counts.next() == 0)
      try now {
        try database.put("a")
        switch ending {
        case .close: try database.close()
        case .suspend: try database.suspend()
        case .failedSync: disk.inject(SimulatedFault([.sync], call: 1))
        case .fullDisk: disk.limit(toByteCount: 1)
        }
        if ending != .close {
          #expect(throws: DatabaseError.self) { try database.put("b", Self.values) }
        }
      }
      // What was told before is still there.
      #expect(await commits.next()?.commit?.saved.map(\.name) == ["a"])
      if ending != .close {
        #expect(try await counts.next() == 1)
        try now { try database.close() }
      }
      #expect(await commits.next() == nil)
      #expect(try await counts.next() == nil)
    }
  }
}

private func word(of result: Result<Void, any Error>) -> String {
  switch result {
  case .success: "done"
  case .failure(let error as DatabaseError): "`\(error.code)`"
  case .failure(let error): "\(error)"
  }
}
