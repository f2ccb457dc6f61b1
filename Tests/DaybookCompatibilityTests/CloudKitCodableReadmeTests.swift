// swift-format-ignore-file
#if !canImport(CloudKit)
import DaybookCompatibility
import Testing

// The snippets of the README of CloudKitCodable, word for word; in the sources of an application only the import is another one.

struct Person: CustomCloudKitCodable {
    var cloudKitSystemFields: Data?
    let name: String
    let age: Int
    let website: URL
    let avatar: URL
    let isDeveloper: Bool
}

@Suite("the README of CloudKitCodable")
struct CloudKitCodableReadmeTests {
  @Test("C9: the snippets of the README run: a person becomes a record and comes back equal")
  func snippets() throws {
    var encoded: CKRecord?

    let rambo = Person(
        cloudKitSystemFields: nil,
        name: "Guilherme Rambo",
        age: 26,
        website: URL(string:"https://guilhermerambo.me")!,
        avatar: URL(fileURLWithPath: "/Users/inside/Pictures/avatar.png"),
        isDeveloper: true
    )

    do {
       let record = try CloudKitRecordEncoder().encode(rambo)
       // record is now a CKRecord you can upload to CloudKit
       encoded = record
    } catch {
       // something went wrong
       Issue.record(error)
    }

    let record = try #require(encoded)
    #expect(record.recordType == "Person")
    #expect(record["name"] as? String == "Guilherme Rambo")
    #expect(record["age"] as? Int64 == 26)
    #expect(record["website"] as? String == "https://guilhermerambo.me")
    #expect((record["avatar"] as? CKAsset)?.fileURL?.path == "/Users/inside/Pictures/avatar.png")
    #expect(record["isDeveloper"] as? Int64 == 1)
    #expect(record.allKeys() == ["age", "avatar", "isDeveloper", "name", "website"])

    do {
       let person = try CloudKitRecordDecoder().decode(Person.self, from: record)
       #expect(person.name == rambo.name)
       #expect(person.age == rambo.age)
       #expect(person.website == rambo.website)
       #expect(person.avatar == rambo.avatar)
       #expect(person.isDeveloper)
       #expect(person.cloudKitSystemFields != nil)
    } catch {
       // something went wrong
       Issue.record(error)
    }
  }

  @Test("C8: the file travels with the saved record, and the decoded URL is where its content is")
  func avatar() async throws {
    try await Scratch.container { container in
      let picture = try Scratch.file("a picture")
      let rambo = Person(
        cloudKitSystemFields: nil, name: "Guilherme Rambo", age: 26, website: URL(string: "https://guilhermerambo.me")!,
        avatar: picture, isDeveloper: true)
      let database = container.privateCloudDatabase
      let saved = try await database.save(CloudKitRecordEncoder().encode(rambo))
      try FileManager.default.removeItem(at: picture)

      let record = try await database.record(for: saved.recordID)
      let person = try CloudKitRecordDecoder().decode(Person.self, from: record)
      #expect(person.avatar.isFileURL)
      #expect(try String(contentsOf: person.avatar, encoding: .utf8) == "a picture")
    }
  }
}
#endif
