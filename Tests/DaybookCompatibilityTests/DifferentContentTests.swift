#if !canImport(CloudKit)
  import Daybook
  import DaybookCompatibility
  import Foundation
  import Testing

  @Suite("values that differ in an asset")
  struct DifferentContentTests {
    struct Face: CKCodable, Equatable {
      var cloudKitRecordType: String { "Face" }
      var cloudKitIdentifier: String { id }
      var id: String
      var photo: Data
    }
    struct Pair: CKCodable, Equatable {
      var cloudKitRecordType: String { "Pair" }
      var cloudKitIdentifier: String { "pair" }
      var faces: [Face]
    }

    @Test("two different values of one identifier that differ in an asset are refused")
    func conflict() throws {
      #expect(throws: CKCodableError.self) {
        try CKRecordEncoder().encode(
          Pair(faces: [Face(id: "f", photo: Data("one".utf8)), Face(id: "f", photo: Data("two".utf8))]))
      }
      #expect(
        try CKRecordEncoder().encode(
          Pair(faces: [Face(id: "f", photo: Data("one".utf8)), Face(id: "f", photo: Data("one".utf8))])
        ).count == 2)
    }

    struct Filed: CKCodable, Equatable {
      var cloudKitRecordType: String { "Filed" }
      var cloudKitIdentifier: String { id }
      var id: String
      var file: URL
    }
    struct Files: CKCodable, Equatable {
      var cloudKitRecordType: String { "Files" }
      var cloudKitIdentifier: String { "files" }
      var files: [Filed]
    }
    @Test("two different files of one identifier are refused")
    func files() throws {
      func file(_ text: String) throws -> URL {
        let url = FileManager.default.temporaryDirectory.appending(path: "daybook-\(UUID().uuidString)")
        try Data(text.utf8).write(to: url)
        return url
      }
      let (a, b) = (try file("a"), try file("b"))
      defer { for url in [a, b] { try? FileManager.default.removeItem(at: url) } }
      #expect(throws: CKCodableError.self) {
        try CKRecordEncoder().encode(Files(files: [Filed(id: "f", file: a), Filed(id: "f", file: b)]))
      }
    }

    @Test("numbers of several kinds in a list lose no digits")
    func digits() throws {
      let record = CKRecord(recordType: "N")
      record["n"] = [9_007_199_254_740_993, 0.5] as NSArray
      #expect(throws: (any Error).self) { try record.daybookRecord() }
      record["n"] = [3, 0.5] as NSArray
      #expect(try record.daybookRecord()["n"] as [Double]? == [3, 0.5])
    }
  }
#endif
