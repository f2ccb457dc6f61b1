// swift-format-ignore-file
#if !canImport(CloudKit)
import DaybookCompatibility
import Testing

// The snippets of the README of NestedCloudKitCodable. Its text says that a location is a text "latitude;longitude" in the model; what
// the snippets leave out, the two other types and the values, is filled in.

struct School: CKCodable {

    var cloudKitRecordType: String {
        return "School"
    }
    var cloudKitIdentifier: String {
        return id
    }

    var id = UUID().uuidString
    var name: String!
    var location: String!
    var students: [Pupil]!
    var director: Pupil!
    var books: [Book]!
}

struct Pupil: CKCodable, Equatable {
    var cloudKitRecordType: String { "Person" }
    var cloudKitIdentifier: String { identifier }

    var identifier = UUID().uuidString
    var name: String
    var birthDate = Date(timeIntervalSinceReferenceDate: 0)
    var places: [String]?
}

struct Book: CKCodable, Equatable {
    var cloudKitRecordType: String { "Book" }
    var cloudKitIdentifier: String { identifier }

    var identifier = UUID().uuidString
    var title: String
    var pages: Int
    var available: Bool
}

@Suite("the README of NestedCloudKitCodable")
struct NestedCloudKitCodableReadmeTests {
  @Test("N8: the snippets of the README run: a school becomes its records, and comes back from the database")
  func snippets() async throws {
    Scratch.prepare()
    var records: [CKRecord] = []

    var school = School()
    school.name = "Escola"
    school.location = "-30.03;-51.23"
    school.students = [Pupil(name: "Ana", places: ["1.5;2.5", "3.0;4.0"]), Pupil(name: "Bia")]
    school.director = Pupil(name: "Carla")
    school.books = [Book(title: "Dom Casmurro", pages: 256, available: true)]

    do {
        let encodedRecords = try CKRecordEncoder().encode(school)
        // Save encodedRecords to your Cloudkit database
        records = encodedRecords
    } catch let error as CKCodableError {
        // Handle errors
        Issue.record(error)
    } catch { }

    #expect(records.count == 5)
    #expect(records.last?.recordID.recordName == school.id)
    let root = try #require(records.last)
    #expect((root["students"] as? [CKRecord.Reference])?.map(\.recordID.recordName) == school.students.map(\.identifier))
    #expect((root["director"] as? CKRecord.Reference)?.action == .deleteSelf)
    #expect((root["location"] as? CLLocation)?.coordinate.latitude == -30.03)

    let saved = try await CKContainer.default().publicCloudDatabase.modifyRecords(saving: records, deleting: [])
    for (_, result) in saved.saveResults { _ = try result.get() }

    let schoolRecord = try await CKContainer.default().publicCloudDatabase.record(for: root.recordID)
    let referenceDatabase = CKContainer.default().publicCloudDatabase // Database where related CKRecords are stored

    let decoded: School = await withCheckedContinuation { continuation in
CKRecordDecoder().decode(School.self,
                         from: schoolRecord,
                         referenceDatabase: referenceDatabase) { (decodedSchool, error) in
    if let error = error {
        // Adds your error handling here
        Issue.record(error)
    }

    let schoolObject = decodedSchool as! School

    continuation.resume(returning: schoolObject)
}
    }

    #expect(decoded.id == school.id)
    #expect(decoded.name == "Escola")
    #expect(decoded.location == "-30.03;-51.23")
    #expect(decoded.students == school.students)
    #expect(decoded.director == school.director)
    #expect(decoded.books == school.books)
  }

  @Test("N10: a school of which nothing is known is one record, and comes back the same")
  func empty() async throws {
    try await Scratch.container { container in
      let school = School()

      let records = try CKRecordEncoder().encode(school)
      #expect(records.count == 1)
      #expect(records[0].allKeys() == ["id"])
      let decoded = try await CKRecordDecoder().decode(
        School.self, from: records[0], referenceDatabase: container.privateCloudDatabase)
      #expect(decoded.id == school.id)
      #expect(decoded.name == nil)
      #expect(decoded.students == nil)
    }
  }
}
#endif
