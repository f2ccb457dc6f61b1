extension NotificationStream {
  /// How many notifications of a subscription are kept.
  struct Room {
    var count: Int
    var byteCount: Int
    var isUsedUp: Bool { count <= 0 || byteCount < 0 }
  }

  /// What a batch of commits tells, while it is put together: never more than is kept for a slow consumer. Where there is more,
  /// it is each subscription once, in their order, and that something was missed.
  struct GatheredNotifications {
    private(set) var notifications: [SubscriptionNotification] = []
    private(set) var isFull = false
    private var room = Room(count: NotificationStream.noticeLimit, byteCount: NotificationStream.bodyByteLimit)
    private let lastSequence: UInt64?
    /// The subscriptions that are told; only asked where there is too much.
    private var told: Set<Subscription.ID> = []

    init(lastSequence: UInt64?) { self.lastSequence = lastSequence }

    /// One more than there is room for shows that there is no room.
    func room(for subscription: Subscription) -> Room {
      // Of what is told as missed nothing is kept.
      if isFull { return Room(count: 1, byteCount: .max) }
      return Room(count: subscription.firesOnce && subscription.isOfQuery ? 1 : room.count + 1, byteCount: room.byteCount)
    }

    mutating func append(_ test: SubscriptionTest) {
      guard !test.found.isEmpty else { return }
      room.count -= test.found.count
      room.byteCount = test.room.byteCount
      if !isFull, room.count >= 0, room.byteCount >= 0 {
        notifications += test.found
        return
      }
      if !isFull {
        isFull = true
        notifications = notifications.filter { told.insert($0.subscription.id).inserted }.map { missed($0.subscription) }
      }
      appendMissed(test.subscription)
    }

    /// Where there is too much, a subscription of which something was missed.
    mutating func appendMissed(_ subscription: Subscription) {
      precondition(isFull, "what there is room for is told")
      if told.insert(subscription.id).inserted { notifications.append(missed(subscription)) }
    }

    private func missed(_ subscription: Subscription) -> SubscriptionNotification {
      .init(subscription, .missed, sequence: lastSequence)
    }
  }
}
