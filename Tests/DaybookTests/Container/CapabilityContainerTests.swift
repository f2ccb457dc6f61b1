import Foundation
import Testing

@testable import Daybook

// The rows about containers, accounts and values. The first rows are about devices that synchronise; here two of them
// exchange feeds by hand.

extension CapabilityTests {
  private static let name = "iCloud.com.example.Notes"

  private func container(
    _ folder: TemporaryFolder, _ id: String = name, _ change: (inout Database.Options) -> Void = { _ in }
  ) throws -> Container {
    var options = Database.Options()
    change(&options)
    return try Container.open(id, in: folder.path, options: options)
  }

  /// Brings what changed on one device to another; returns where the next exchange begins.
  private func carry(_ zone: Zone.ID, from source: Database, to target: Database, since token: ChangeToken?) throws
    -> ChangeToken
  {
    let page = try source.changes(in: zone, since: token, limit: .max)
    try target.write(origin: "carrier") { transaction in
      try transaction.save(Zone(zone))
      for record in page.saved {
        guard try transaction.record(record.id)?.values != record.values else { continue }
        var copy = try Record(type: record.type, id: record.id)
        for key in record.keys { copy[key] = record[key] as Record.Value? }
        try transaction.save(copy, policy: .allKeys)
      }
      for deletion in page.deleted { try transaction.delete(deletion.id) }
    }
    return page.token
  }

  @Test("A1: the private data of one user are brought from device to device by their changes")
  func a1() throws {
    let folders = try [TemporaryFolder(), TemporaryFolder()]
    defer { withExtendedLifetime(folders) {} }
    let devices = try folders.map { try container($0).privateDatabase }
    let zone = try Zone.ID("Notes")
    try devices[0].write { transaction in
      try transaction.save(Zone(zone))
      for name in ["a", "b"] { try transaction.save(.fresh(name, in: zone, ["text": .string("from device 0: \(name)")])) }
    }
    var tokens = [try carry(zone, from: devices[0], to: devices[1], since: nil)]
    #expect(try devices[1].records(in: zone).map(\.id.name) == ["a", "b"])
    try devices[1].write { transaction in
      var a = try #require(try transaction.record(Record.ID("a", in: zone)))
      a["text"] = "from device 1"
      try transaction.save(a)
      try transaction.delete(Record.ID("b", in: zone))
    }
    tokens.append(try carry(zone, from: devices[1], to: devices[0], since: nil))
    #expect(try devices[0].record(Record.ID("a", in: zone))?["text"] == "from device 1")
    #expect(try devices[0].recordCount(in: zone) == 1)
    // Nothing is left to exchange but the echo, which changes nothing.
    let sequence = try devices[1].snapshot().sequence
    _ = try carry(zone, from: devices[0], to: devices[1], since: tokens[0])
    #expect(try devices[1].snapshot().sequence == sequence)
    for device in devices { try device.expectClean() }
  }

  @Test("A2: the public database is read without an account, as for an application's configuration")
  func a2() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let notes = try container(folder)
    try notes.publicDatabase.put("config", type: "Configuration", ["minimumVersion": 3])
    try notes.setAccountStatus(.noAccount)
    #expect(try notes.publicDatabase.record(Record.ID("config"))?["minimumVersion"] == 3)
    let error = failure { try notes.publicDatabase.put("config", type: "Configuration", ["minimumVersion": 4]) }
    #expect(error?.code == .notAuthenticated)
    try notes.close()
  }

  @Test("A3: several applications open one container, one application several, and names are reverse DNS")
  func a3() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    // Two parts of one process share it; closing one leaves it to the other.
    let first = try container(folder)
    let second = try container(folder)
    #expect(first.privateDatabase === second.privateDatabase)
    try first.close()
    try second.publicDatabase.put("a")
    // Another one beside it.
    let other = try container(folder, "com.example.other-app")
    try other.publicDatabase.put("b")
    #expect(try second.publicDatabase.recordCount(in: .default) == 1)
    #expect(try other.publicDatabase.record(Record.ID("a")) == nil)
    try other.close()
    try second.close()
    #expect(failure { try second.publicDatabase.put("c") }?.code == .closed)
    // The next application.
    let third = try container(folder)
    #expect(try third.publicDatabase.record(Record.ID("a")) != nil)
    // A reader needs no turn.
    try third.close()
    let reader = try container(folder) { $0.isReadOnly = true }
    #expect(try reader.publicDatabase.record(Record.ID("a")) != nil)
    #expect(failure { try reader.setAccountStatus(.noAccount) }?.code == .readOnly)
    try reader.close()
    for bad in [
      "", "Notes", ".com.example", "com..example", "com.example.", "9com.example", "com.exa mple", "com.-example",
      "com.example-",
      "com.exämple", "com/example.x", "com." + String(repeating: "x", count: 64), String(repeating: "ab.", count: 70) + "c",
    ] {
      #expect(failure { try container(folder, bad) }?.code == .badContainer, "\(bad)")
    }
    for good in ["com.example", "iCloud.com.example.Notes-2", "a.b.c.d"] { try container(folder, good).close() }
  }

  @Test("A4: without an account nothing can be written; each status has its error")
  func a4() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let notes = try container(folder)
    try notes.privateDatabase.put("a")
    let expected: [AccountStatus: DatabaseError.Code] = [
      .noAccount: .notAuthenticated, .restricted: .managedAccountRestricted,
      .temporarilyUnavailable: .accountTemporarilyUnavailable, .couldNotDetermine: .accountTemporarilyUnavailable,
    ]
    for status in AccountStatus.allCases {
      try notes.setAccountStatus(status)
      for scope in DatabaseScope.allCases {
        let error = failure { try notes.database(scope).write { try $0.setMetadata(Data(), forKey: "k") } }
        #expect(error?.code == expected[status], "\(status) \(scope)")
      }
      #expect(try notes.privateDatabase.record(Record.ID("a")) != nil, "what is here is read")
    }
    try notes.close()
  }

  @Test("A5: whoever listens hears of each change of data, but not of its own")
  func a5() async throws {
    let database = try Database.inMemory()
    var notices = database.commits(excluding: "me").makeAsyncIterator()
    try await database.write(origin: "me") { transaction in
      _ = try transaction.save(Record(type: "Note", id: Record.ID("mine")))
    }
    try await database.write(origin: "you") { transaction in
      _ = try transaction.save(Record(type: "Note", id: Record.ID("yours")))
    }
    guard case .commit(let notice) = await notices.next() else {
      Issue.record("no notice")
      return
    }
    #expect(notice.saved.map(\.name) == ["yours"] && notice.origin == "you")
  }

  @Test("A6: a container has a private, a public and a shared database, a file each")
  func a6() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let notes = try container(folder)
    let databases = [notes.privateDatabase, notes.publicDatabase, notes.sharedDatabase]
    #expect(databases.map(\.scope) == [.private, .public, .shared] && Set(databases.map(\.path)).count == 3)
    #expect(Set(databases.map(\.id)).count == 3)
    try notes.privateDatabase.put("a")
    #expect(try notes.publicDatabase.record(Record.ID("a")) == nil)
    try notes.close()
    let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    #expect(files == ["account.json", "private.daybook", "public.daybook", "shared.daybook"].map { "\(Self.name).\($0)" })
  }

  @Test("A7: the default zone is always there, zones of one's own only in the private database")
  func a7() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let notes = try container(folder)
    let zone = Zone(try Zone.ID("Work"))
    try notes.privateDatabase.write { try $0.save(zone) }
    #expect(try notes.privateDatabase.zones().map(\.id) == [zone.id, .default])
    #expect(try notes.publicDatabase.zones().map(\.id) == [.default])
    #expect(try notes.sharedDatabase.zones().isEmpty)
    for scope in [DatabaseScope.public, .shared] {
      let database = notes.database(scope)
      let error = failure { try database.write { try $0.save(zone) } }
      #expect(error?.code == .badDatabase && error?.facts.zone == zone.id, "\(scope)")
      #expect(try database.modifyZones(saving: [zone], deleting: [zone.id]).errors[zone.id]?.code == .badDatabase)
    }
    let foreign = Zone(try Zone.ID("Work", owner: "bob"))
    #expect(failure { try notes.privateDatabase.write { try $0.save(foreign) } }?.code == .badDatabase)
    // In the shared database there are the zones of others, once they are shared.
    let outside = failure { try notes.sharedDatabase.put("a") }
    #expect(outside?.code == .invalidArguments && outside?.message == "Only shared zones can be accessed in the shared DB")
    #expect(failure { try notes.addSharedZone(zone.id) }?.code == .invalidArguments)
    try notes.addSharedZone(foreign.id)
    try notes.sharedDatabase.put("a", in: foreign.id)
    #expect(try notes.sharedDatabase.zones().map(\.id) == [foreign.id])
    #expect(failure { try notes.sharedDatabase.write { try $0.deleteZone(foreign.id) } }?.code == .badDatabase)
    try notes.removeSharedZone(foreign.id)
    #expect(try notes.sharedDatabase.zones().isEmpty)
    #expect(failure { try notes.sharedDatabase.record(Record.ID("a", in: foreign.id)) } == nil)
    for scope in DatabaseScope.allCases { try notes.database(scope).expectClean() }
    try notes.close()
  }

  @Test("A8: atomic saves and feeds only in custom zones")
  func a8() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let notes = try container(folder) { $0.dialect = .cloudKit }
    let database = notes.privateDatabase
    let zone = try database.zone("Work")
    for id in [zone, .default] {
      try database.put("there", in: id)
      let result = try database.modify(saving: [.fresh("there", in: id), .fresh("new", in: id)])
      #expect(result.errors.count == (id == zone ? 2 : 1), "\(id)")
      #expect(try database.recordCount(in: id) == (id == zone ? 1 : 2))
    }
    #expect(try database.changes(in: zone, since: nil).saved.count == 1)
    let questions: [() throws -> Void] = [
      { _ = try database.changes(in: .default, since: nil) }, { _ = try database.changeCount(in: .default, since: nil) },
      { _ = try database.snapshot().changes(in: .default, since: nil) },
      { _ = try database.snapshot().changeCount(in: .default, since: nil) },
      { try database.write { transaction in _ = try transaction.changes(in: .default, since: nil) } },
    ]
    for question in questions {
      let error = failure { try question() }
      #expect(error?.code == .invalidArguments && error?.message == "AppDefaultZone does not support getChanges call")
    }
    #expect(try database.databaseChanges(since: nil).changed == [zone], "the default zone is in no feed of the database")
    #expect(failure { try notes.publicDatabase.databaseChanges(since: nil) }?.code == .badDatabase)
    #expect(failure { try notes.publicDatabase.snapshot().databaseChanges(since: nil) }?.code == .badDatabase)
    try notes.close()
    // A local database can do better.
    let local = try Database.inMemory()
    try local.put("a")
    #expect(try local.changes(in: .default, since: nil).saved.count == 1)
    #expect(try local.databaseChanges(since: nil).changed.isEmpty)
  }

  @Test("A11: a value is one of eight kinds or a list of one of them, and nothing else is ever stored")
  func a11() throws {
    let database = try Database.inMemory()
    let day = Date(timeIntervalSinceReferenceDate: 700_000_000)
    let target = Record.Reference(try Record.ID("target"))
    var record = try Record(type: "Note", id: Record.ID("a"))
    let values: [String: Record.Value] = [
      "string": "text", "int": 7, "double": 7.5, "bool": true, "data": .bytes(Data([1, 2])), "date": .date(day),
      "location": .location(Location(latitude: 1, longitude: 2)), "asset": .asset(Asset(data: Data([3]))),
      "reference": .reference(target), "strings": .strings(["a", ""]), "ints": .ints([1]), "doubles": .doubles([1.5]),
      "datas": .bytesList([Data()]), "dates": .dates([day]), "locations": .locations([Location(latitude: 3, longitude: 4)]),
      "assets": .assets([Asset(data: Data([5]))]), "references": .references([target, target]), "empty": .strings([]),
    ]
    for (key, value) in values { try record.set(value, forKey: key) }
    try database.write { [record] in try $0.save(record) }
    let stored = try #require(try database.record(record.id))
    #expect(Set(stored.keys) == Set(values.keys) && stored["bool"] == true && stored["int"] as Double? == 7.0)
    for (key, value) in values where !key.hasPrefix("asset") { #expect(stored[key] as Record.Value? == value, "\(key)") }
    #expect((stored["asset"] as Asset?)?.data == Data([3]))
    #expect(try database.schema()["Note"]?.fields.allSatisfy { $0.kinds.count == 1 } == true)
    // What is no value is refused when it is set, or at save; the record in the database stays.
    var bad = stored
    bad["double"] = Double.nan
    let nan = failure { try database.write { [bad] in try $0.save(bad) } }
    #expect(nan?.code == .invalidArguments && nan?.facts.key == "double")
    #expect(failure { try bad.set(.doubles([.nan]), forKey: "doubles") }?.code == .invalidArguments)
    #expect(failure { try bad.set(1, forKey: "no spaces") }?.code == .invalidArguments)
    #expect(try database.record(record.id) == stored)
    try database.expectClean()
  }

  @Test(
    "A15: the user's record has one ID in all databases and zones of a container, another in each container, and own fields")
  func a15() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let notes = try container(folder)
    let other = try container(folder, "com.example.other")
    #expect(notes.userRecordName != other.userRecordName)
    let zone = try notes.privateDatabase.zone("Work")
    let shared = try Zone.ID("Theirs", owner: "bob")
    try notes.addSharedZone(shared)
    let places: [(Database, Zone.ID)] = [
      (notes.privateDatabase, .default), (notes.privateDatabase, zone), (notes.publicDatabase, .default),
      (notes.sharedDatabase, shared),
    ]
    for (index, place) in places.enumerated() {
      var user = try place.0.userRecord(in: place.1)
      #expect(user.type == "Users" && user.id.name == notes.userRecordName && user.id.zone == place.1 && user.metadata == nil)
      user["nickname"] = "number \(index)"
      user["avatar"] = Asset(data: Data([UInt8(index)]))
      try place.0.write { [user] in try $0.save(user) }
    }
    for (index, place) in places.enumerated() {
      let user = try place.0.userRecord(in: place.1)
      #expect(user["nickname"] == "number \(index)" && (user["avatar"] as Asset?)?.data == Data([UInt8(index)]))
      #expect(user.metadata?.creatorUserID == notes.userRecordName)
      // Not deleted, not listed, and none created for another user.
      let error = failure { try place.0.write { try $0.delete(user.id) } }
      #expect(error?.code == .permissionFailure)
      #expect(try place.0.modify(deleting: [user.id]).errors[user.id]?.code == .permissionFailure)
      let listed = failure { try place.0.records(in: place.1, ofType: "Users") }
      #expect(listed?.code == .invalidArguments && listed?.message == "Can't query system types")
      try place.0.expectClean()
    }
    #expect(failure { try Record(type: "Users") }?.code == .invalidArguments)
    let stranger = Record(body: RecordBody(newType: "Users", id: try Record.ID("somebody")))
    #expect(failure { try notes.publicDatabase.write { try $0.save(stranger) } }?.code == .permissionFailure)
    let impostor = try Record.fresh(notes.userRecordName, in: zone, type: "Note")
    let wrongType = failure {
      try notes.publicDatabase.write { try $0.save(Record(type: "Note", id: Record.ID(notes.userRecordName, in: .default))) }
    }
    #expect(wrongType?.code == .invalidArguments, "a record keeps its type")
    #expect(failure { try notes.privateDatabase.write { try $0.save(impostor) } }?.code == .invalidArguments)
    var owned = try notes.privateDatabase.userRecord()
    owned["boss"] = Record.Reference(try Record.ID("boss"), action: .deleteSelf)
    let error = failure { try notes.privateDatabase.write { [owned] in try $0.save(owned) } }
    #expect(error?.code == .invalidArguments, "nothing takes the user's record along")
    try notes.close()
    try other.close()
    let again = try container(folder)
    #expect(again.userRecordName == notes.userRecordName)
    try again.close()
    let alone = try Database.inMemory()
    #expect(failure { try alone.userRecord() }?.code == .badContainer)
  }

  @Test("A16: the account has a status that is kept, and the user has an ID")
  func a16() async throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let notes = try container(folder)
    #expect(notes.accountStatus() == .available && !notes.userRecordName.isEmpty)
    let database: any RecordDatabase = notes.privateDatabase
    #expect(try await database.accountStatus() == .available)
    try notes.setAccountStatus(.restricted)
    #expect(try await database.accountStatus() == .restricted)
    try notes.close()
    let again = try container(folder)
    #expect(again.accountStatus() == .restricted)
    try again.close()
    let alone: any RecordDatabase = try Database.inMemory()
    #expect(try await alone.accountStatus() == .available)
  }

  @Test("A17: whoever listens hears when the account changes, also by another process")
  func a17() async throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let notes = try container(folder)
    var changes = notes.accountStatusChanges().makeAsyncIterator()
    try notes.setAccountStatus(.available)
    try notes.setAccountStatus(.noAccount)
    #expect(await changes.next() == .noAccount, "what stays the same is no change")
    // Another process writes the file.
    let path = "\(folder.path)/\(Self.name).account.json"
    let text = try String(contentsOfFile: path, encoding: .utf8)
    #expect(text.contains(#""status":"noAccount""#) && text.contains(notes.userRecordName))
    try text.replacing("noAccount", with: "available").write(toFile: path, atomically: true, encoding: .utf8)
    #expect(try notes.refreshAccountStatus() == .available)
    #expect(await changes.next() == .available)
    try notes.privateDatabase.put("a")
    try notes.close()
    #expect(await changes.next() == nil)
  }

  @Test("A18: other users are found by address, number or record, in whatever directory the application has")
  func a18() async throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let url = URL(filePath: folder.file("people.json"))
    let people = [
      UserIdentity(userRecordName: "user-1", name: "Ada", emailAddress: "ada@example.com", phoneNumber: "+44 20 1234"),
      UserIdentity(userRecordName: "user-2", name: "Grace"),
    ]
    try JSONEncoder().encode(people).write(to: url)
    let directory: any IdentityDiscovery = FileIdentityDiscovery(fileURL: url)
    #expect(try await directory.allIdentities() == people)
    let lookups: [UserLookup] = [
      .emailAddress("ADA@example.com"), .phoneNumber("+44-20-1234"), .userRecordName("user-2"),
      .emailAddress("nobody@example.com"),
    ]
    let found = try await directory.identities(for: lookups)
    #expect(found[lookups[0]] == people[0] && found[lookups[1]] == people[0] && found[lookups[2]] == people[1])
    #expect(found.count == 3)
    try Data("{}".utf8).write(to: url)
    await #expect(throws: DatabaseError.self) { try await directory.allIdentities() }
    try FileManager.default.removeItem(at: url)
    await #expect(throws: DatabaseError.self) { try await directory.allIdentities() }
  }
}
