#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import Daybook
import DaybookEngine

/// Reads that go on where an earlier one was: feeds with their tokens, histories in pages, and several records in one call.
extension ProcessActor {
  /// Brings the mirror up to date, a page of at most `limit` after the other.
  func follow(_ open: ProcessOpen, limit: Int) throws {
    let snapshot = try open.database.snapshot()
    let number = try process.read(snapshot, of: open, floor: 0)
    try followDatabase(snapshot, number)
    for name in ["z0", "z1"] {
      do { try followZone(name, snapshot, number, limit) } catch let error as DatabaseError {
        try accept(error, of: name, number)
        mirror.zones[name] = nil
      }
    }
  }

  private func followDatabase(_ snapshot: borrowing Snapshot, _ number: Int) throws {
    let isBased = history.stands(number, on: mirror.commit)
    if let token = mirror.token {
      do {
        let changes = try snapshot.databaseChanges(since: token)
        guard isBased else {
          // A page without anything is one of a state that the token is ahead of.
          if changes.token.data == token.data, changes.changed.isEmpty, changes.deleted.isEmpty { return }
          throw CrashDeviation("a database token of commit \(mirror.commit) is taken in commit \(history.chain(number))")
        }
        let (before, now) = (history.attempts[mirror.commit].state.zones, history.attempts[number].state.zones)
        for (name, zone) in now where before[name]?.records != zone.records {
          if changes.changed.contains(where: { $0.name == name }) { continue }
          throw CrashDeviation("the changes of commit \(number) since \(mirror.commit) lack \(name)")
        }
        for name in before.keys where now[name] == nil {
          if changes.deleted.contains(where: { $0.id.name == name }) { continue }
          throw CrashDeviation("the changes of commit \(number) since \(mirror.commit) lack the deletion of \(name)")
        }
        (mirror.token, mirror.commit) = (changes.token, number)
        return
      } catch let error as DatabaseError {
        guard error.code == .changeTokenForked && !isBased || error.code == .changeTokenExpired else { throw error }
      }
    }
    (mirror.token, mirror.commit) = (try snapshot.databaseChanges(since: nil).token, number)
  }

  private func followZone(_ name: String, _ snapshot: borrowing Snapshot, _ number: Int, _ limit: Int) throws {
    let id = try Zone.ID(name)
    var zone = mirror.zones[name] ?? .init()
    let isBased = zone.token == nil || history.stands(number, on: zone.commit)
    while true {
      run.scheduler.point()
      let count = try snapshot.changeCount(in: id, since: zone.token)
      let page = try snapshot.changes(in: id, since: zone.token, limit: limit)
      guard isBased else {
        if page.token.data == zone.token?.data, page.saved.isEmpty, page.deleted.isEmpty { return }
        throw CrashDeviation("a token of commit \(zone.commit) in \(name) is taken in commit \(history.chain(number))")
      }
      if count < page.saved.count + page.deleted.count {
        throw CrashDeviation(
          "\(page.saved.count) records and \(page.deleted.count) deletions in a page of \(count) changes in \(name)")
      }
      for record in page.saved { zone.records[record.id.name] = record["n"] }
      for deletion in page.deleted { zone.records[deletion.id.name] = nil }
      zone.token = page.token
      if !page.moreComing { break }
    }
    let expected = (history.attempts[number].state.zones[name]?.records ?? [:]).mapValues(\.number)
    if zone.records != expected {
      throw CrashDeviation(
        "\(name), followed from commit \(zone.commit) to \(number), has \(zone.records), expected \(expected)")
    }
    zone.commit = number
    mirror.zones[name] = zone
  }

  /// Throws an error of a feed that has no reason.
  private func accept(_ error: DatabaseError, of name: String, _ number: Int) throws {
    let zone = mirror.zones[name]
    let hasReason: Bool =
      switch error.code {
      case .zoneNotFound, .userDeletedZone: history.attempts[number].state.zones[name] == nil
      case .changeTokenForked: zone.map { $0.token != nil && !history.stands(number, on: $0.commit) } ?? false
      case .changeTokenExpired: zone?.token != nil
      default: false
      }
    if !hasReason { throw error }
  }

  /// Several records in one call are of one commit, and none of before what the process has seen.
  func lookUp(_ open: ProcessOpen, zone name: String, _ count: Int) throws {
    let id = try Zone.ID(name)
    let ids = try (0..<count).map { try Record.ID("r\($0)", in: id) }
    let seen = open.seen
    var numbers: [String: Int64] = [:]
    for (id, result) in try open.database.records(for: ids) {
      switch result {
      case .success(let record): numbers[id.name] = record["n"]
      case .failure(let error):
        guard [.unknownItem, .zoneNotFound, .userDeletedZone].contains(error.code) else { throw error }
      }
    }
    try requireCommit(numbers, of: ids, name, seen)
    var more: [String: Int64] = [:]
    for (id, record) in try open.database.records(ids, desiredKeys: ["n"]) { more[id.name] = record["n"] }
    try requireCommit(more, of: ids, name, seen)
  }

  private func requireCommit(_ numbers: [String: Int64], of ids: [Record.ID], _ zone: String, _ seen: Int) throws {
    let names = Set(ids.map(\.name))
    let isOfOne = history.attempts.indices.contains { number in
      guard history.stands(number, on: seen), history.attempts[number].outcome != .refused else { return false }
      let records = history.attempts[number].state.zones[zone]?.records ?? [:]
      return records.filter { names.contains($0.key) }.mapValues(\.number) == numbers
    }
    if !isOfOne { throw CrashDeviation("several records of \(zone) are \(numbers), which no commit on \(seen) has") }
  }

  /// A record's history, in pages and as a whole, is that of the commits before the snapshot's, as far back as it goes.
  func lookBack(_ open: ProcessOpen, zone name: String, record: String) throws {
    let snapshot = try open.database.snapshot()
    let number = try process.read(snapshot, of: open, floor: 0)
    guard history.attempts[number].state.zones[name] != nil else { return }
    let id = try Record.ID(record, in: Zone.ID(name))
    var tags: [String] = []
    while true {
      let page = try snapshot.history(of: id, before: tags.last, limit: 2)
      run.scheduler.point()
      if page.isEmpty { break }
      tags += page.map(\.changeTag)
    }
    let versions = try snapshot.history(of: id)
    guard versions.map(\.changeTag) == tags, Set(tags).count == tags.count else {
      throw CrashDeviation("the history of \(id) is \(versions.map(\.changeTag)), and in pages \(tags)")
    }
    let numbers = versions.compactMap { version -> Int64? in
      if case .saved(let record) = version.content { record["n"] } else { nil }
    }
    var expected: [Int64] = []
    var commit = number
    while true {
      let found = history.attempts[commit].state.zones[name]?.records[record]?.number
      if let found, expected.last != found { expected.append(found) }
      if commit == 0 { break }
      commit = history.attempts[commit].parent
    }
    let present = history.attempts[number].state.zones[name]?.records[record]?.number
    guard expected.starts(with: numbers), present == nil || numbers.first == present else {
      throw CrashDeviation("the history of \(id) in commit \(number) is \(numbers), and was \(expected)")
    }
  }
}
