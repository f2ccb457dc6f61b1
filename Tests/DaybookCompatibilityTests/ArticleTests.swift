// swift-format-ignore-file
#if !canImport(CloudKit)
import DaybookCompatibility
import Testing

// The examples of "Sincronização de dados com CloudKit": its inline snippets word for word, the others as its prose tells them.

// Primeiro, o enum dos campos do nosso registro, e a extensão em CKRecord.
enum MovieKey: String {
    case title
    case releaseDate
    case location
    case rating
}

extension CKRecord {

    subscript(key: MovieKey) -> Any? {
        get {
            return self[key.rawValue]
        }
        set {
            self[key.rawValue] = newValue as? CKRecordValue
        }
    }

}

/// A function that every project has: the error, if it cannot be helped; nil, if the block will be run again.
func retryCloudKitOperationIfPossible(with error: Error?, block: @escaping () -> ()) -> Error? {
    guard let effectiveError = error as? CKError else { return error }
    guard let retryDelay = effectiveError.retryAfterSeconds else { return effectiveError }

    DispatchQueue.global().asyncAfter(deadline: .now() + retryDelay) {
        block()
    }

    return nil
}

@Suite("the article about CloudKit")
struct ArticleTests {
  @Test("A3: the snippets of containers run")
  func containers() throws {
    Scratch.prepare()
    let container = CKContainer.default()
    let containerIdentifier = "iCloud.br.com.guilhermerambo.KitchenContainer"
    let secondContainer = CKContainer(identifier: containerIdentifier)
    #expect(container.containerIdentifier == "iCloud.com.example.Default")
    #expect(container != secondContainer)
    #expect(container == CKContainer.default())
    #expect(secondContainer.privateCloudDatabase.databaseScope == .private)
    #expect(secondContainer.database(with: .shared).databaseScope == .shared)
  }

  @Test("A9: fetchAllRecordZones lists the zones of a database")
  func zones() async throws {
    try await Scratch.container { container in
      let database = container.privateCloudDatabase
      try await database.save(CKRecordZone(zoneName: "Notas"))
      let names = await withCheckedContinuation { (continuation: CheckedContinuation<[String], Never>) in
        database.fetchAllRecordZones { zones, error in
            guard let zones = zones, error == nil else {
                Issue.record("no zones: \(String(describing: error))")
                return continuation.resume(returning: [])
            }
            continuation.resume(returning: zones.map { $0.zoneID.zoneName })
        }
      }
      #expect(names.sorted() == ["Notas", "_defaultZone"])
    }
  }

  @Test("A11: values are set with a cast to CKRecordValue, as text fields of a form are")
  func casts() {
    let record = CKRecord(recordType: "Movie")

    record["title"] = "Central do Brasil" as CKRecordValue
    record["rating"] = 4.5 as CKRecordValue
    record["seen"] = true as NSNumber
    record["releaseDate"] = Date(timeIntervalSinceReferenceDate: 0) as CKRecordValue
    record["location"] = CLLocation(latitude: -22.9, longitude: -43.2)
    record["poster"] = Data([1, 2]) as NSData
    record["cast"] = ["Fernanda Montenegro", "Vinícius de Oliveira"] as NSArray

    #expect(record["title"] as? String == "Central do Brasil")
    #expect(record["title"] as? NSString == "Central do Brasil")
    #expect(record["rating"] as? Double == 4.5)
    #expect(record["seen"] as? Bool == true)
    #expect(record["seen"] as? Int == 1)
    #expect(record["releaseDate"] as? Date == Date(timeIntervalSinceReferenceDate: 0))
    #expect((record["location"] as? CLLocation)?.coordinate.longitude == -43.2)
    #expect(record["poster"] as? Data == Data([1, 2]))
    #expect(record["cast"] as? [String] == ["Fernanda Montenegro", "Vinícius de Oliveira"])
    #expect(record["cast"] as? [Int] == nil)
  }

  @Test("A12: an enum of keys makes the record readable, and what no field can hold becomes nil")
  func typedKeys() {
    let record = CKRecord(recordType: "Movie")
    let title = "Bacurau"
    let date = Date(timeIntervalSinceReferenceDate: 600_000_000)
    let rating = 5

    record[.title] = title
    record[.releaseDate] = date
    record[.rating] = rating
    // e assim por diante...

    #expect(record[.title] as? String == "Bacurau")
    #expect(record[.releaseDate] as? Date == date)
    #expect(record[.rating] as? Int == 5)
    // Unsupported: the field is nil, and it was taken away rather than left as it was.
    record[.title] = ["a": 1]
    #expect(record[.title] == nil)
    #expect(record.changedKeys() == ["rating", "releaseDate", "title"])
  }

  @Test("A16: account status, the user's record ID, and the record itself from the public database")
  func account() async throws {
    try await Scratch.container { container in
      let recordID = await withCheckedContinuation { (continuation: CheckedContinuation<CKRecordID?, Never>) in
        container.accountStatus { status, error in
            guard status == .available, error == nil else { return continuation.resume(returning: nil) }
            container.fetchUserRecordID { recordID, error in
                continuation.resume(returning: error == nil ? recordID : nil)
            }
        }
      }
      let id = try #require(recordID)
      let user = await withCheckedContinuation { (continuation: CheckedContinuation<CKRecord?, Never>) in
        container.publicCloudDatabase.fetch(withRecordID: id) { record, error in
            guard let record = record, error == nil else { return continuation.resume(returning: nil) }
            continuation.resume(returning: record)
        }
      }
      #expect(user?.recordType == "Users")
      #expect(user?.recordID == id)
      #expect(try await container.privateCloudDatabase.record(for: id).recordID.recordName == id.recordName)
    }
  }

  @Test("A15: the user's record gets an avatar, and the private one keeps something else")
  func avatar() async throws {
    try await Scratch.container { container in
      let id = try await container.userRecordID()
      let userRecord = try await container.publicCloudDatabase.record(for: id)
      let imageURL = try Scratch.file("an image")

      userRecord["avatar"] = CKAsset(fileURL: imageURL)

      let error = await withCheckedContinuation { (continuation: CheckedContinuation<Error?, Never>) in
        container.publicCloudDatabase.save(userRecord) { _, error in
            continuation.resume(returning: error)
        }
      }
      #expect(error == nil)
      let saved = try await container.publicCloudDatabase.record(for: id)
      let avatar = try #require(saved["avatar"] as? CKAsset)
      #expect(try String(contentsOf: #require(avatar.fileURL), encoding: .utf8) == "an image")

      let own = try await container.privateCloudDatabase.record(for: id)
      own["email"] = "rambo@example.com"
      try await container.privateCloudDatabase.save(own)
      #expect(try await container.privateCloudDatabase.record(for: id)["avatar"] == nil)
    }
  }

  @Test("A19: anything but a file URL is an error of the save, and no crash")
  func notAFile() async throws {
    try await Scratch.container { container in
      let record = CKRecord(recordType: "Movie")
      record["poster"] = CKAsset(fileURL: URL(string: "https://example.com/poster.png")!)
      do {
        try await container.privateCloudDatabase.save(record)
        Issue.record("it was saved")
      } catch CKError.invalidArguments {
      }
      record["poster"] = CKAsset(fileURL: URL(fileURLWithPath: "/nowhere/poster.png"))
      do {
        try await container.privateCloudDatabase.save(record)
        Issue.record("it was saved")
      } catch CKError.assetFileNotFound {
      }
    }
  }

  @Test("A17: CKAccountChanged is posted when the account changes")
  func accountChanged() async throws {
    try await Scratch.container { container in
      let daybook = try container.daybookContainer()
      for await _ in NotificationCenter.default.notifications(of: .CKAccountChanged, after: {
        try? daybook.setAccountStatus(.noAccount)
      }) { break }
      #expect(try await container.accountStatus() == .noAccount)
      do {
        _ = try await container.userRecordID()
        Issue.record("there is a user")
      } catch CKError.notAuthenticated {
      }
    }
  }

  @Test("A20: save creates or updates, and other devices' fields stay")
  func saves() async throws {
    try await Scratch.container { container in
      let database = container.privateCloudDatabase
      let record = CKRecord(recordType: "Movie", recordID: CKRecord.ID(recordName: "aquarius"))
      record["title"] = "Aquarius"
      try await database.save(record)
      #expect(record.changedKeys() == [])
      #expect(record.recordChangeTag != nil)

      let other = try await database.record(for: record.recordID)
      other["rating"] = 5
      try await database.save(other)

      record["year"] = 2016
      do {
        try await database.save(record)
        Issue.record("it was saved over another one")
      } catch let error as CKError where error.code == .serverRecordChanged {
        #expect(error.clientRecord === record)
        #expect(error.serverRecord?["rating"] as? Int == 5)
        #expect(error.ancestorRecord?["rating"] == nil)
        let server = try #require(error.serverRecord)
        server["year"] = record["year"]
        try await database.save(server)
      }
      let final = try await database.record(for: record.recordID)
      #expect(final["year"] as? Int == 2016)
      #expect(final["rating"] as? Int == 5)
    }
  }

  @Test("A28: retryAfterSeconds decides whether an operation is tried again")
  func retry() async throws {
    let busy = CKError(DatabaseErrors.busy)
    #expect(busy.retryAfterSeconds == 0.25)
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      #expect(retryCloudKitOperationIfPossible(with: busy) { continuation.resume() } == nil)
    }
    let wrong = CKError(.invalidArguments)
    #expect(retryCloudKitOperationIfPossible(with: wrong) {} is CKError)
    #expect(retryCloudKitOperationIfPossible(with: nil) {} == nil)
  }
}

extension NotificationCenter {
  /// The notifications of a name, beginning with those that `change` causes.
  func notifications(of name: Notification.Name, after change: @escaping @Sendable () -> Void) -> AsyncStream<Void> {
    AsyncStream { continuation in
      nonisolated(unsafe) let observer = addObserver(forName: name, object: nil, queue: nil) { _ in continuation.yield() }
      continuation.onTermination = { _ in NotificationCenter.default.removeObserver(observer) }
      change()
    }
  }
}
#endif
