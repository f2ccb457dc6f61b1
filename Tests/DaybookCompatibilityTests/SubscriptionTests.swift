#if !canImport(CloudKit)
  import Daybook
  import DaybookCompatibility
  import Foundation
  import Testing

  // The subscriptions of the article, and what else there is of them.

  extension Kitchen {
    // As the article makes, describes and saves one.
    func subscribe(_ completion: @escaping (CKSubscription?, Error?) -> Void) {
      let subscription = CKQuerySubscription(
        recordType: "Movie", predicate: NSPredicate(value: true), options: [.firesOnRecordCreation])

      let info = CKNotificationInfo()

      info.alertLocalizationKey = "movie_registered_alert"
      info.alertLocalizationArgs = ["title"]
      info.soundName = "default"
      info.desiredKeys = ["title"]

      subscription.notificationInfo = info

      container.publicCloudDatabase.save(subscription) { savedSubscription, error in
        guard let savedSubscription = savedSubscription, error == nil else {
          completion(nil, error)
          return
        }
        completion(savedSubscription, nil)
      }
    }
  }

  /// As applications handle a push.
  private func handle(_ userInfo: [AnyHashable: Any]) -> String? {
    guard let notification = CKNotification(fromRemoteNotificationDictionary: userInfo) else { return nil }
    switch notification.notificationType {
    case .query:
      guard let query = notification as? CKQueryNotification else { return nil }
      return "query \(query.queryNotificationReason) \(query.recordID?.recordName ?? "–")"
    case .recordZone: return "zone \((notification as? CKRecordZoneNotification)?.recordZoneID?.zoneName ?? "–")"
    case .database: return notification is CKDatabaseNotification ? "database" : nil
    case .readNotification: return "read"
    }
  }

  @Suite("subscriptions under CloudKit's names", .timeLimit(.minutes(15)))
  struct NamedSubscriptionTests {
    @Test(
      "triggers and capabilities of odd bits, negative ones too, become objects without a trap",
      arguments: [-1, .min, .max, 8])
    func oddBits(_ bits: Int) throws {
      let subscription = CKSubscription.from(Subscription("s", to: Query("Note"), firesOn: .init(rawValue: bits)))
      let query = try #require(subscription as? CKQuerySubscription)
      #expect(query.querySubscriptionOptions == .init(rawValue: UInt(bits & 7)))
      var zone = Zone(try Zone.ID("Library"))
      zone.capabilities = .init(rawValue: bits)
      #expect(CKRecordZone(zone).capabilities.rawValue & 15 == UInt(bits & 15))
    }

    @Test("compound predicates in one another without end are refused, with the limit")
    func deepCompounds() throws {
      var predicate = NSPredicate(format: "a = 1")
      for _ in 0..<2000 { predicate = NSCompoundPredicate(notPredicateWithSubpredicate: predicate) }
      let error = #expect(throws: DatabaseError.self) {
        try CKQuerySubscription(recordType: "Note", predicate: predicate).daybookSubscription()
      }
      #expect(error?.code == .invalidArguments && error?.facts.limit == 64)
    }

    @Test("A29, A30: the article's subscription is saved, and a new film is told with its title")
    func article() async throws {
      try await Scratch.container { container in
        let kitchen = Kitchen(container: container)
        let saved = try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<CKSubscription, Error>) in
          kitchen.subscribe { saved, error in
            if let saved { continuation.resume(returning: saved) } else { continuation.resume(throwing: error!) }
          }
        }
        #expect(saved.subscriptionType == .query && saved.notificationInfo?.soundName == "default")
        var notifications = try container.publicCloudDatabase.daybookNotifications().makeAsyncIterator()
        let record = CKRecord(recordType: "Movie")
        record["title"] = "Bacurau"
        record["year"] = 2019
        try await container.publicCloudDatabase.save(record)
        let notification = try #require(await notifications.next() as? CKQueryNotification)
        #expect(notification.subscriptionID == saved.subscriptionID)
        #expect(notification.queryNotificationReason == .recordCreated && notification.recordID == record.recordID)
        #expect(notification.recordFields?["title"] as? String == "Bacurau" && notification.recordFields?.count == 1)
        #expect(notification.alertLocalizationKey == "movie_registered_alert")
        #expect(notification.alertLocalizationArgs == ["Bacurau"] && notification.soundName == "default")
        #expect(notification.databaseScope == .public && !notification.isPruned)
        #expect(notification.containerIdentifier == container.containerIdentifier)
        #expect(notification.subscriptionOwnerUserRecordID != nil && notification.titleLocalizationArgs == nil)
        #expect(handle(notification.userInfo) == "query recordCreated \(record.recordID.recordName)")
        #expect(CKQueryNotification(fromRemoteNotificationDictionary: notification.userInfo) === notification)
        #expect(CKDatabaseNotification(fromRemoteNotificationDictionary: notification.userInfo) == nil)
        #expect(handle(["aps": ["content-available": 1]]) == nil)
      }
    }

    @Test("A29: films near a place are told of, wherever their zone is, changes and deletions too")
    func places() async throws {
      try await Scratch.container { container in
        let database = container.privateCloudDatabase
        let zone = CKRecordZone(zoneName: "Films")
        try await database.save(zone)
        let near = Kitchen(container: container).predicate(closeTo: CLLocation(latitude: -23.5, longitude: -46.6))
        let subscription = CKQuerySubscription(
          recordType: "Movie", predicate: near, subscriptionID: "near",
          options: [.firesOnRecordCreation, .firesOnRecordUpdate, .firesOnRecordDeletion])
        try await database.save(subscription)
        let inZone = CKQuerySubscription(
          recordType: "Movie", predicate: near, subscriptionID: "once", options: [.firesOnRecordCreation, .firesOnce])
        inZone.zoneID = .default
        try await database.save(inZone)
        try await database.save(
          CKQuerySubscription(
            recordType: "End", predicate: NSPredicate(value: true),
            subscriptionID: "end", options: .firesOnRecordCreation))
        var notifications = try database.daybookNotifications().makeAsyncIterator()
        for (name, zoneID, latitude) in [
          ("here", CKRecordZone.ID.default, -22.9), ("there", zone.zoneID, -22.9), ("far", zone.zoneID, 50.0),
          ("again", .default, -22.9),
        ] {
          let film = CKRecord(recordType: "Movie", recordID: CKRecord.ID(recordName: name, zoneID: zoneID))
          film["location"] = CLLocation(latitude: latitude, longitude: -43.2)
          try await database.save(film)
          film["title"] = "A"
          try await database.save(film)
        }
        try await database.deleteRecord(withID: CKRecord.ID(recordName: "there", zoneID: zone.zoneID))
        try await database.save(CKRecord(recordType: "End"))
        var texts: [String: [String]] = [:]
        // Those of one batch come in the order of the subscriptions' names.
        while texts["end"] == nil || texts["once"] == nil || texts["near"]?.count != 7 {
          let notification = try #require(await notifications.next())
          let text = try #require(handle(notification.userInfo))
          texts[try #require(notification.subscriptionID), default: []].append(text)
        }
        #expect(
          texts["near"] == [
            "query recordCreated here", "query recordUpdated here", "query recordCreated there", "query recordUpdated there",
            "query recordCreated again", "query recordUpdated again", "query recordDeleted there",
          ])
        #expect(texts["once"] == ["query recordCreated here"])
        #expect(try await database.allSubscriptions().map(\.subscriptionID) == ["end", "near"])
      }
    }

    @Test("zones and databases are told of by their own classes, and too many changes as a change of the database")
    func zones() async throws {
      try await Scratch.container { container in
        let database = container.privateCloudDatabase
        let zone = CKRecordZone(zoneName: "Films")
        try await database.save(zone)
        let whole = CKDatabaseSubscription(subscriptionID: "all")
        whole.recordType = "Movie"
        let done = try await database.modifySubscriptions(
          saving: [whole, CKRecordZoneSubscription(zoneID: zone.zoneID, subscriptionID: "zone")], deleting: [])
        #expect(try done.saveResults["all"]?.get() === whole)
        var notifications = try database.daybookNotifications().makeAsyncIterator()
        try await database.save(CKRecord(recordType: "Movie", zoneID: zone.zoneID))
        var texts: Set<String> = []
        for _ in 0..<2 {
          let notification = try #require(await notifications.next())
          texts.insert(try #require(handle(notification.userInfo)))
        }
        #expect(texts == ["zone Films", "database"])

        _ = try await database.modifySubscriptions(
          saving: [
            CKQuerySubscription(
              recordType: "Note", predicate: NSPredicate(value: true), subscriptionID: "notes", options: .firesOnRecordCreation)
          ], deleting: ["all", "zone"])
        var slow = try database.daybookNotifications().makeAsyncIterator()
        let daybook = try database.daybookDatabase()
        for _ in 0..<1100 { try await daybook.save(Record(type: "Note")) }
        let missed = try #require(await slow.next())
        #expect(missed is CKDatabaseNotification && missed.isPruned && missed.subscriptionID == "notes")
      }
    }

    @Test("A31: subscriptions are saved, fetched and deleted by each kind of request, and one of the same name is replaced")
    func requests() async throws {
      try await Scratch.container { container in
        let database = container.privateCloudDatabase
        let info = CKSubscription.NotificationInfo(
          alertBody: "New", desiredKeys: ["title"], shouldBadge: true, shouldSendContentAvailable: true)
        func query(_ id: String, _ options: CKQuerySubscriptionOptions) -> CKQuerySubscription {
          let subscription = CKQuerySubscription(
            recordType: "Movie", predicate: NSPredicate(format: "year > %d", 2000), subscriptionID: id, options: options)
          subscription.notificationInfo = info
          return subscription
        }
        let handled = await withCheckedContinuation { (continuation: CheckedContinuation<String?, Never>) in
          database.save(query("a", [.firesOnRecordUpdate])) { _, _ in
            database.fetch(withSubscriptionID: "a") { subscription, _ in
              database.fetchAllSubscriptions { all, _ in
                database.delete(withSubscriptionID: "a") { id, error in
                  database.delete(withSubscriptionID: "a") { _, again in
                    let code = (again as? CKError)?.code
                    continuation.resume(
                      returning: subscription?.subscriptionID == id && all?.count == 1 && error == nil && code == .unknownItem
                        ? id : nil)
                  }
                }
              }
            }
          }
        }
        #expect(handled == "a")

        let modify = CKModifySubscriptionsOperation(
          subscriptionsToSave: [query("b", .firesOnRecordCreation), query("none", .firesOnce)],
          subscriptionIDsToDelete: ["missing"])
        let each = Collected<String>()
        let ends = Collected<([String], [String], CKError?)>()
        modify.perSubscriptionSaveBlock = { id, result in
          if case .success = result { each.append(id) }
        }
        modify.perSubscriptionDeleteBlock = { id, result in
          if case .failure = result { each.append(id) }
        }
        modify.modifySubscriptionsCompletionBlock = { saved, deleted, error in
          ends.append((saved?.map(\.subscriptionID) ?? [], deleted ?? [], error as? CKError))
        }
        await modify.ended { database.add(modify) }
        #expect(each.values == ["b", "missing"])
        let end = try #require(ends.values.first)
        #expect(end.0 == ["b"] && end.1.isEmpty && end.2?.code == .partialFailure)
        #expect((end.2?.partialErrorsByItemID?["none"] as? CKError)?.code == .invalidArguments)
        #expect((end.2?.partialErrorsByItemID?["missing"] as? CKError)?.code == .unknownItem)

        let fetch = CKFetchSubscriptionsOperation(subscriptionIDs: ["b", "missing"])
        let found = Collected<([String: CKSubscription], CKError?)>()
        fetch.fetchSubscriptionCompletionBlock = { found.append(($0 ?? [:], $1 as? CKError)) }
        await fetch.ended { database.add(fetch) }
        let (subscriptions, error) = try #require(found.values.first)
        #expect(error?.code == .partialFailure && subscriptions.keys.sorted() == ["b"])
        let fetched = try #require(subscriptions["b"] as? CKQuerySubscription)
        #expect(fetched.recordType == "Movie" && fetched.querySubscriptionOptions == .firesOnRecordCreation)
        #expect(fetched.notificationInfo?.alertBody == "New" && fetched.notificationInfo?.desiredKeys == ["title"])
        #expect(fetched.notificationInfo?.shouldBadge == true && fetched.notificationInfo?.category == nil)

        try await database.save(query("b", .firesOnRecordDeletion))
        let all = CKFetchSubscriptionsOperation.fetchAllSubscriptionsOperation()
        let options = Collected<CKQuerySubscription.Options?>()
        all.perSubscriptionResultBlock = { _, result in
          options.append((try? result.get() as? CKQuerySubscription)?.querySubscriptionOptions)
        }
        await all.ended { database.add(all) }
        #expect(options.values == [.firesOnRecordDeletion])
        #expect(try await database.subscription(for: "b").subscriptionID == "b")
        #expect(try await database.subscriptions(for: ["b", "c"]).count == 2)
        #expect(try await database.deleteSubscription(withID: "b") == "b")
        #expect(try await database.allSubscriptions().isEmpty)
        // What each database takes is as in CloudKit.
        let refused: [(CKDatabase, CKSubscription)] = [
          (container.publicCloudDatabase, CKDatabaseSubscription(subscriptionID: "a")),
          (container.sharedCloudDatabase, query("a", .firesOnRecordCreation)),
          (database, CKRecordZoneSubscription(zoneID: CKRecordZone.ID(zoneName: "None"))),
          (database, CKQuerySubscription(recordType: "Movie", predicate: NSPredicate(format: "year >"), options: .firesOnce)),
          (database, CKQuerySubscription(recordType: "", predicate: NSPredicate(value: true), options: .firesOnRecordUpdate)),
        ]
        for (database, subscription) in refused {
          await #expect(throws: CKError.self) { try await database.save(subscription) }
        }
      }
    }

    @Test("subscriptions are copied, archived and bridged with all that they say")
    func objects() throws {
      let query = CKQuerySubscription(
        recordType: "Movie", predicate: NSPredicate(format: "year > %d", 2000), subscriptionID: "query",
        options: [.firesOnRecordUpdate, .firesOnce])
      query.zoneID = CKRecordZone.ID(zoneName: "Films")
      let zone = CKRecordZoneSubscription(zoneID: CKRecordZone.ID(zoneName: "Films"), subscriptionID: "zone")
      zone.recordType = "Movie"
      let database = CKDatabaseSubscription(subscriptionID: "database")
      let info = CKNotificationInfo()
      info.title = "Films"
      info.subtitleLocalizationArgs = ["title"]
      for subscription in [query, zone, database] as [CKSubscription] {
        subscription.notificationInfo = info
        info.title = "Other"
        #expect(subscription.notificationInfo?.title == "Films")
        info.title = "Films"
        let known = try subscription.daybookSubscription()
        let copy = try #require(subscription.copy() as? CKSubscription)
        #expect(copy !== subscription && type(of: copy) == type(of: subscription))
        #expect(try copy.daybookSubscription() == known)
        #expect(try CKSubscription.from(known).daybookSubscription() == known)
        let data = try NSKeyedArchiver.archivedData(withRootObject: subscription, requiringSecureCoding: true)
        let back = try NSKeyedUnarchiver.unarchivedObject(
          ofClasses: [CKQuerySubscription.self, CKRecordZoneSubscription.self, CKDatabaseSubscription.self], from: data)
        #expect(try (back as? CKSubscription)?.daybookSubscription() == known)
        #expect(subscription.description.contains(subscription.subscriptionID))
      }
      #expect(query.subscriptionType == .query && zone.subscriptionType == .recordZone)
      #expect(database.subscriptionType == .database)
      let all = Subscription("all", to: Query(where: .true))
      #expect(try CKSubscription.from(all).daybookSubscription() == all)
      let data = try NSKeyedArchiver.archivedData(withRootObject: info, requiringSecureCoding: true)
      let known = try NSKeyedUnarchiver.unarchivedObject(ofClass: CKNotificationInfo.self, from: data)
      #expect(known?.title == "Films" && known?.subtitleLocalizationArgs == ["title"])
    }
  }
#endif
