import DaybookEngine

/// Subscriptions that fire once: which of several streams tells it, and what becomes of them then.
extension NotificationStream {
  /// What a batch of commits tells, and what is known after it.
  struct Found: Sendable {
    var notifications: [SubscriptionNotification]
    var known: Known
    /// Those of the notifications' subscriptions that fire once.
    var firing: [Firing]

    /// Deletes the subscriptions that fire once, and drops what another stream tells: the stream that deletes a subscription tells of it.
    /// Waits like a transaction, on no thread of the reads. If nothing can be written, each stream tells once; a cancelled one
    /// leaves the subscriptions to the others. One that was saved again meanwhile, or went with its zone, is always told: no stream
    /// can see whether another stream had deleted it before, and telling twice is better than never.
    mutating func claim(in database: Database) async {
      guard !firing.isEmpty else { return }
      do {
        let claimed = try await database.write { [firing] transaction in
          var claimed = Set<Subscription.ID>()
          for one in firing {
            let (id, view) = (one.stored.subscription.id, transaction.context.view)
            if let stored = try StoredSubscriptions.entry(id, view)?.stored {
              if stored == one.stored { try StoredSubscriptions.delete(id, from: transaction.context) }
            } else if try one.life(in: view) == one.life {
              continue
            }
            claimed.insert(id)
          }
          return claimed
        }
        leaveOut { !claimed.contains($0) }
      } catch is CancellationError {
        for one in firing { known.fired[one.stored.subscription.id] = nil }
        leaveOut { _ in true }
      } catch {}
    }

    private mutating func leaveOut(where isLeftOut: (Subscription.ID) -> Bool) {
      let ids = Set(firing.lazy.map(\.stored.subscription.id).filter(isLeftOut))
      if !ids.isEmpty { notifications.removeAll { ids.contains($0.subscription.id) } }
    }
  }

  /// A subscription that fires once, and does.
  struct Firing: Sendable {
    let stored: StoredSubscriptions.Stored
    /// Which life of its zone it was saved in; nil where it is of no zone.
    private(set) var life: UInt64?

    init(_ stored: StoredSubscriptions.Stored, _ view: ReadView) throws(DatabaseError) {
      self.stored = stored
      life = try life(in: view)
    }

    /// Which life of its zone a version has; nil where the zone is gone.
    func life(in view: ReadView) throws(DatabaseError) -> UInt64? {
      guard case .query(let query) = stored.subscription.target, let zone = query.zone else { return nil }
      return try view.zone(zone)?.epoch
    }
  }
}
