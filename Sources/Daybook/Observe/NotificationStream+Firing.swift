import DaybookEngine

/// Subscriptions that fire once: which of several streams tells it, and what becomes of them then.
extension NotificationStream {
  /// What a batch of commits tells, and what is known after it.
  struct Found: Sendable {
    var ready: [Ready]
    var known: Known
  }

  /// A notification that waits for its consumer.
  struct Ready: Sendable {
    let notification: SubscriptionNotification
    /// Its subscription, if that fires once: it is deleted when the consumer gets the notification, because one that waits may never
    /// be asked for.
    var firing: Firing?
  }

  /// A subscription that fires once, and does.
  struct Firing: Sendable {
    let stored: StoredSubscriptions.Stored
    /// How often another history had come when it was found: in a later one it may not have fired.
    let history: Int
    /// Which life of its zone it was saved in; nil where it is of no zone.
    private let life: UInt64?

    init(_ stored: StoredSubscriptions.Stored, _ view: ReadView, _ history: Int) throws(DatabaseError) {
      self.stored = stored
      self.history = history
      life = try Firing.life(of: stored, in: view)
    }

    /// Deletes the subscription, unless it was saved again, be it by a later version. False where another stream has: the stream that
    /// deletes a subscription tells of it. One that was saved again, or went with its zone, is always told: no stream can see whether
    /// another one had deleted it before, and telling twice is better than never.
    func claim(in context: WriteContext) throws(DatabaseError) -> Bool {
      let id = stored.subscription.id
      guard let now = try StoredSubscriptions.entry(id, context.view) else {
        return try Firing.life(of: stored, in: context.view) != life
      }
      if now.stored == stored { try StoredSubscriptions.delete(id, from: context) }
      return true
    }

    /// Which life of its zone a version has; nil where the zone is gone.
    private static func life(of stored: StoredSubscriptions.Stored, in view: ReadView) throws(DatabaseError) -> UInt64? {
      guard case .query(let query) = stored.subscription.target, let zone = query.zone else { return nil }
      return try view.zone(zone)?.epoch
    }
  }
}
