import DaybookTesting
import Foundation

@testable import Daybook
@testable import DaybookEngine

/// Tokens, and what came after them.
extension RecordTrial {
  func hold(_ token: HeldToken) {
    tokens.append(token)
    if tokens.count > 60 { tokens.remove(at: number(0...59)) }
  }

  /// Pages from nothing or from an old token to the end.
  func feed() throws {
    stepCount += 1
    let old = chance(1, in: 3) ? nil : tokens.filter { $0.zone != nil }.randomElement(using: &generator)
    let zone = old?.zone ?? pick(zones)
    if let old, mayNotBeSeen(old) { return try expectNothingOrForked(old) }
    if let code = expectedRefusal(old, zone) {
      let found = try codeOf { _ = try database.changes(in: zone, since: old?.token) }
      return try require(found == code, "token of \(zone): \(String(describing: found)), expected \(code)")
    }
    let limit = chance(1, in: 3) ? 1 : number(1...12)
    var place = old?.order ?? 0
    var token = old?.token
    let count = try database.changeCount(in: zone, since: token)
    try require(count == model.changes(in: zone, after: place).count, "count of changes of \(zone)")
    while true {
      let pending = model.changes(in: zone, after: place)
      let page = try database.changes(in: zone, since: token, limit: limit, desiredKeys: chance(1, in: 4) ? [] : nil)
      let wanted = pending.prefix(limit)
      try require(
        page.savedNames == wanted.filter { $0.row.live != nil }.map(\.name)
          && page.deletedNames == wanted.filter { $0.row.live == nil }.map(\.name)
          && page.deleted.map(\.type) == wanted.filter { $0.row.live == nil }.map(\.row.current.type)
          && page.saved.map { $0.metadata?.changeTag } == wanted.compactMap { $0.row.live?.tag },
        "feed of \(zone) behind \(place): \(page.savedNames) \(page.deletedNames), expected \(wanted.map(\.name))")
      try require(page.moreComing == (pending.count > limit), "more coming, \(zone)")
      token = page.token
      let life = model.zones[zone]?.life ?? 0
      if page.moreComing {
        place = pending[limit].row.order - 1
        hold(
          HeldToken(
            token: page.token, zone: zone, life: life, order: place, sequence: pending[limit].row.sequence,
            horizon: model.horizon, isPartial: true))
        // Something may happen between two pages.
        if chance(1, in: 4) { return }
      } else {
        return hold(
          HeldToken(
            token: page.token, zone: zone, life: life, order: model.order, sequence: model.sequence, horizon: model.horizon))
      }
    }
  }

  func expectedRefusal(_ old: HeldToken?, _ zone: Zone.ID) -> DatabaseError.Code? {
    if let fault = model.fault(of: zone) { return fault }
    guard let old else { return nil }
    if old.isForked { return .changeTokenForked }
    if old.life != model.zones[zone]?.life { return .changeTokenExpired }
    return isExpired(old) ? .changeTokenExpired : nil
  }

  func isExpired(_ old: HeldToken) -> Bool {
    old.horizon != model.horizon
      && (old.sequence < model.horizon || old.sequence == model.horizon && old.isPartial)
  }

  func databaseFeed() throws {
    stepCount += 1
    let old = chance(1, in: 3) ? nil : tokens.filter { $0.zone == nil }.randomElement(using: &generator)
    if let old, mayNotBeSeen(old) { return try expectNothingOrForked(old) }
    if let old, old.isForked || isExpired(old) {
      let code: DatabaseError.Code = old.isForked ? .changeTokenForked : .changeTokenExpired
      let found = try codeOf { _ = try database.databaseChanges(since: old.token) }
      return try require(found == code, "token of the database: \(String(describing: found)), expected \(code)")
    }
    let expected = model.zoneChanges(after: old?.sequence ?? 0)
    var token = old?.token
    var changed: [Zone.ID] = []
    var deleted: [DatabaseChanges.DeletedZone] = []
    let limit = number(1...3)
    while true {
      let page = try database.databaseChanges(since: token, limit: limit)
      changed += page.changed
      deleted += page.deleted
      token = page.token
      guard let sequence = page.token.parts?.sequence else { throw Mismatch(description: "a token without parts") }
      hold(HeldToken(token: page.token, sequence: sequence, horizon: model.horizon))
      if !page.moreComing { break }
    }
    try require(
      changed == expected.filter { model.zones[$0]?.deletion == nil }, "changed zones \(changed), expected \(expected)")
    try require(
      deleted == expected.compactMap { id in model.zones[id]?.deletion.map { .init(id: id, reason: $0) } },
      "deleted zones \(deleted)")
  }
}
