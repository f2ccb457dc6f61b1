import DaybookTesting
import Foundation

@testable import Daybook

/// Several that have one file open: writers that share the file, and one that writes while another is suspended.
///
/// What each says is the twin's word as soon as it has looked at the file. Before, it shows an earlier moment, and answers
/// tokens from after it with nothing.
extension RecordTrial {
  /// More writers beside one that shares the file.
  func openBeside() throws {
    guard database.options.lock == .perTransaction, chance(2, in: 3) else { return }
    for _ in 0..<number(1...2) {
      var options = someOptions()
      options.lock = .perTransaction
      openers.append(try .open(at: path, options: options, disk: disk))
    }
  }

  /// Another one goes on, and looks at what was done meanwhile: by itself, or with its next transaction.
  func changeOpener() throws {
    guard openers.count > 1 else { return }
    database = pick(openers)
    let shown = try database.snapshot().sequence
    if shown < model.sequence { note(.turn) }
    try require(shown <= model.sequence, "an opener shows commit \(shown) of \(model.sequence)")
    if shown < model.sequence { try expectNothing(behind: shown) }
    do {
      if chance(1, in: 3) {
        try database.write { _ in }
      } else {
        try database.refresh()
      }
    } catch let error as DatabaseError where syncMayHaveFailed {
      try require(error.code == .ioFailed || error.code == .outcomeUnknown, "catching up throws \(error)")
      return try lose(crashes: chance(1, in: 2), mayGoBack: true)
    }
    try expectSequence()
  }

  /// Tokens that the others gave since: good for this one later, and no reason to start over.
  func expectNothing(behind shown: UInt64) throws {
    let newer = tokens.filter { $0.state > shown && !$0.isForked }
    guard let token = newer.randomElement(using: &generator) else { return }
    var isNothing = false
    let code = try codeOf { isNothing = try isAnsweredWithNothing(token) }
    try require(
      isNothing || code == .zoneNotFound || code == .userDeletedZone,
      "a token of \(token.sequence) at \(shown): \(String(describing: code))")
  }

  private func isAnsweredWithNothing(_ old: HeldToken) throws -> Bool {
    if let zone = old.zone {
      let page = try database.changes(in: zone, since: old.token)
      return try page.saved.isEmpty && page.deleted.isEmpty && !page.moreComing && page.token == old.token
        && database.changeCount(in: zone, since: old.token) == 0
    }
    let page = try database.databaseChanges(since: old.token)
    return page.changed.isEmpty && page.deleted.isEmpty && !page.moreComing && page.token == old.token
  }

  /// Lost with a crash, as we know; one that shares the file cannot tell it from a commit that it has not seen yet.
  func mayNotBeSeen(_ old: HeldToken) -> Bool {
    old.state > model.sequence
      && (database.options.isReadOnly || old.isForked && database.options.lock == .perTransaction)
  }

  func expectNothingOrForked(_ old: HeldToken) throws {
    var isNothing = false
    let code = try codeOf { isNothing = try isAnsweredWithNothing(old) }
    let fault = old.zone.flatMap { model.fault(of: $0) }
    try require(
      isNothing || code == .changeTokenForked || code != nil && code == fault,
      "the token of commit \(old.sequence), which was lost, at \(model.sequence): \(String(describing: code))")
  }

  /// Gives the lock back, lets another opener write, and goes on.
  func writeWhileSuspended() throws {
    guard openers.count == 1, !syncMayHaveFailed else { return }
    stepCount += 1
    let (first, life, shown) = (database, lifeCount, model.sequence)
    try first.suspend()
    raiseFloor()
    let refused = try codeOf { try first.write { try $0.setMetadata(nil, forKey: "state") } }
    try require(refused == .locked, "a suspended database writes: \(String(describing: refused))")
    let other = try Database.open(at: path, options: someOptions(), disk: disk)
    database = other
    openers = [other]
    for _ in 0..<number(1...4) {
      switch number(0...9) {
      case 0..<6: try transaction()
      case 6, 7: try feed()
      case 8: try request()
      default: try compact()
      }
      if lifeCount != life { return }
    }
    if syncMayHaveFailed { return try lose(crashes: chance(1, in: 2), mayGoBack: true) }
    database = first
    let sequence = try first.snapshot().sequence
    try require(sequence == shown, "a suspended database shows \(sequence), not \(shown)")
    if model.sequence > shown { try expectNothing(behind: shown) }
    try other.close()
    try first.resume()
    if model.sequence > shown { note(.suspension) }
    openers = [first]
    // The lock of one that shares the file is not taken before its next transaction.
    if first.options.lock == .perTransaction { try first.refresh() }
    raiseFloor()
    try expectSequence()
  }

  // MARK: requests

  /// Saves of many records with a result for each: some are refused, and in an atomic zone the others with them.
  func request() throws {
    if syncMayHaveFailed { return try lose(crashes: chance(1, in: 2), mayGoBack: true) }
    stepCount += 1
    var next = model
    next.sequence += 1
    let policy = pick([SavePolicy.ifServerRecordUnchanged, .ifServerRecordUnchanged, .changedKeys, .allKeys, .replace])
    let isAtomic = chance(1, in: 3)
    var asked: [ModelClient] = []
    for _ in 0..<number(1...6) {
      let client = try requestClient()
      guard !asked.contains(where: { $0.record.id == client.record.id }) else { continue }
      // What is missing a target is judged in rounds, which have tests of their own.
      if case .success(let version) = next.outcome(of: client, policy) {
        if version.pointers.contains(where: {
          $0.needsTarget && next.zones[client.record.id.zone]?.rows[$0.target]?.live == nil
        }) {
          continue
        }
      }
      asked.append(client)
    }
    let result = try database.modify(saving: asked.map(\.record), policy: policy, atomically: isAtomic)
    next.date = clock.date
    try require(result.saves.map(\.id) == asked.map(\.record.id), "the results of a request")
    for zone in Set(asked.map(\.record.id.zone)).sorted() {
      let items = asked.indices.filter { asked[$0].record.id.zone == zone }
      let expected = items.map { next.outcome(of: asked[$0], policy) }
      let hasFailed = zip(items, expected).contains {
        if case .failure = $1 { return true }
        if case .failure(let error) = result.saves[$0].result { return error.code == .assetNotAvailable }
        return false
      }
      let goesBack =
        isAtomic && hasFailed && zone != .default && next.fault(of: zone) == nil
        && next.zones[zone]?.capabilities.contains(.atomic) == true
      for (item, expected) in zip(items, expected) {
        let id = asked[item].record.id
        switch (result.saves[item].result, expected) {
        case (.failure(let error), .success(let version)) where error.code == .assetNotAvailable:
          try require(mayMissContents(error, expected, next), "\(id) in a request, \(version.values): \(error)")
        case (.failure(let error), .failure(let fault)):
          note(.refusedItem)
          try require(error.code == fault.code, "\(id) in a request: \(error), expected \(fault.code)")
        case (.failure(let error), .success):
          try require(goesBack && error.code == .batchRequestFailed, "\(id) in a request: \(error)")
        case (.success, .failure(let fault)):
          throw Mismatch(description: "\(id) in a request should fail: \(fault)")
        case (.success(let saved), .success(var version)):
          try require(!goesBack, "\(id) was saved though another of its zone failed")
          version.tag = saved.metadata?.changeTag ?? ""
          try require(tags.insert(version.tag).inserted, "the tag \(version.tag) was given twice")
          try take(assetsOf: saved, into: &version, &next)
          try compare(saved, version, "\(id) in a request")
          next.append(version, to: id)
          clients.append(ModelClient(saved))
          if clients.count > 40 { clients.remove(at: number(0...39)) }
        }
      }
    }
    guard next.order != model.order else { return try expectSequence() }
    model = next
    keepState()
    try expectSequence()
  }

  private func requestClient() throws -> ModelClient {
    let id = try Record.ID(pick(names), in: pick(zones))
    var client: ModelClient
    let way = number(0...9)
    if way < 3, !clients.isEmpty {
      client = pick(clients)
    } else if way < 8, let known = try database.record(id) {
      client = ModelClient(known)
    } else {
      client = ModelClient(try Record(type: pick(types), id: id))
    }
    for _ in 0..<number(0...3) { client.record[pick(keys)] = chance(1, in: 4) ? nil : value(for: client, model) }
    return client
  }

  // MARK: schema

  /// Fields that no record needs to have: they are known from then on.
  func declare(_ transaction: borrowing Transaction, _ next: inout ModelDatabase) throws {
    let (type, key) = (pick(types), pick(keys + ["declared"]))
    let kinds = chance(1, in: 2) ? ["string"] : ["double", "int"]
    try transaction.declare(
      Schema(types: [.init(name: type, fields: [.init(key: key, kinds: kinds.compactMap { .init(rawValue: $0) })])]))
    let before = next.schema
    next.schema[type, default: [:]][key, default: []].formUnion(kinds)
    if next.schema != before { next.order += 1 }
  }
}
