import Daybook

/// Three versions of a record made into one.
struct Merge {
  enum Side { case client, server }

  /// Where the result is not what the server has: a value of nil is a removal. Empty: both are to have the server's version.
  private(set) var changes: [FieldName: Record.Value?] = [:]
  /// Whether both sides had changed the record, and not to the same.
  private(set) var isConflict = false
  /// Whether the result is what is here already.
  private(set) var isClient = true

  /// - Parameters:
  ///   - base: what both began with; nil where they never agreed. Then a field that only one side has is that side's.
  ///   - sent: versions that were sent from here without an answer. Where the server has the value of one of them, no other device
  ///     has changed the field, and what is here now is newer.
  ///   - byField: whether fields are merged one by one; else the winner's record is taken as a whole where both have changed.
  init(
    _ client: FieldValues, _ server: FieldValues, base: [FieldName: FieldDigest]?, sent: [[FieldName: FieldDigest]] = [],
    winner: Side, byField: Bool
  ) {
    var clients: [FieldName] = []
    var servers: [FieldName] = []
    var both: [FieldName] = []
    for name in Set(client.digests.keys).union(server.digests.keys).union((base ?? [:]).keys) {
      let (here, there) = (client.digests[name], server.digests[name])
      if here == there { continue }
      let former = base?[name]
      switch (here != former, there != former) {
      case (_, true) where sent.contains { $0[name] == there }: clients.append(name)
      case (true, true): both.append(name)
      case (true, false): clients.append(name)
      default: servers.append(name)
      }
    }
    // Which only the server changed is in its version; the client's are put into that.
    isConflict = !both.isEmpty || !clients.isEmpty && !servers.isEmpty
    if !byField, isConflict {
      let all = clients + servers + both
      (clients, servers, both) = winner == .client ? (all, [], []) : ([], all, [])
    }
    if winner == .client { clients += both }
    for name in clients { changes.updateValue(client.values[name], forKey: name) }
    isClient = servers.isEmpty && (both.isEmpty || winner == .client)
  }
}
