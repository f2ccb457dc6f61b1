import DaybookEngine

/// What a watcher of commits wants to know: the less, the less is kept while a transaction runs.
struct WatchInterest: Hashable, Sendable {
  /// Only records of these zones; nil for all, and for commits that change no zone.
  let zones: Set<Zone.ID>?
  /// Only records of these types; nil for all.
  let types: Set<String>?
  /// Also the bodies of the records, as they were and as they are.
  let wantsBodies: Bool
  /// Also the deletion of one of the zones in which there were no records of the types.
  let wantsEnds: Bool

  /// Which records were saved and deleted, in all zones.
  static let names = WatchInterest(wantsBodies: false)

  /// A type is in the body, so a watcher that asks for types gets bodies.
  init(zones: Set<Zone.ID>? = nil, types: Set<String>? = nil, wantsBodies: Bool = true, wantsEnds: Bool = false) {
    self.zones = zones
    self.types = types
    self.wantsBodies = wantsBodies || types != nil
    self.wantsEnds = wantsEnds
  }

  func covers(_ zone: Zone.ID) -> Bool { zones?.contains(zone) ?? true }

  /// Whether a body is of one of the types.
  func coversType(of body: RecordBody?) -> Bool {
    guard let types else { return true }
    guard let body else { return false }
    return body.withBytes { bytes in
      let found = RecordBody.typeBytes(of: bytes)
      return types.contains { type in UTF8Order.withView(of: type) { UTF8Order.equal($0, found) } }
    }
  }
}
