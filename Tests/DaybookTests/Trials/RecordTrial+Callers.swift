import DaybookTesting
import Foundation

@testable import Daybook
@testable import DaybookEngine

/// Several at once: callers that await, each with a transaction or a read of its own, in whatever order they come.
extension RecordTrial {
  private struct Saved {
    let index: Int
    let date: Date
    let record: Record
  }

  func callers() throws {
    if syncMayHaveFailed { return try lose(crashes: chance(1, in: 2), mayGoBack: true) }
    stepCount += 1
    var asked: [ModelClient] = []
    for _ in 0..<number(2...4) {
      let id = try Record.ID(pick(names), in: pick(zones))
      guard !asked.contains(where: { $0.record.id == id }) else { continue }
      var client = ModelClient(try database.record(id) ?? Record(type: pick(types), id: id))
      // No references: whether their targets are there would depend on who comes first.
      client.record[pick(keys)] = Record.Value.int(Int64(number(0...99)))
      asked.append(client)
    }
    let wholes = Locked<[Saved]>([]), failures = Locked<[(Int, DatabaseError.Code?)]>([])
    let (database, clock, records) = (database, clock, asked.map(\.record))
    let readCount = Locked(0)
    awaiting {
      await withTaskGroup(of: Void.self) { group in
        for (index, record) in records.enumerated() {
          group.addTask {
            do {
              try await database.write { transaction in
                let saved = try transaction.save(record, policy: .changedKeys)
                wholes.withLock { $0.append(Saved(index: index, date: clock.date, record: saved)) }
              }
            } catch { failures.withLock { $0.append((index, (error as? DatabaseError)?.code)) } }
          }
          group.addTask {
            let found = try? await database.record(record.id)
            if found == nil || found?.id == record.id { readCount.withLock { $0 += 1 } }
          }
        }
      }
    }
    try require(readCount.withLock { $0 } == records.count, "a caller got another's record")
    for (index, code) in failures.withLock({ $0 }) {
      guard case .failure(let fault) = model.outcome(of: asked[index], .changedKeys), fault.code == code else {
        throw Mismatch(description: "a caller saves \(records[index].id): \(String(describing: code))")
      }
    }
    let saved = wholes.withLock { $0 }
    try require(saved.count + failures.withLock { $0.count } == records.count, "a caller got no answer")
    if saved.count > 1 { note(.callers) }
    for one in saved {
      model.sequence += 1
      model.date = one.date
      let id = records[one.index].id
      guard case .success(var version) = model.outcome(of: asked[one.index], .changedKeys) else {
        throw Mismatch(description: "a caller should not save \(id)")
      }
      version.tag = one.record.metadata?.changeTag ?? ""
      try require(tags.insert(version.tag).inserted, "the tag \(version.tag) was given twice, to a caller")
      try take(assetsOf: one.record, into: &version, &model)
      try compare(one.record, version, "\(id) of a caller")
      model.append(version, to: id)
      keepState()
    }
    try expectSequence()
  }

  /// Waits for asynchronous work. The trial has a thread of its own, which no task needs.
  private func awaiting(_ work: @escaping @Sendable () async -> Void) {
    let isDone = DispatchSemaphore(value: 0)
    Task.detached {
      await work()
      isDone.signal()
    }
    isDone.wait()
  }
}
