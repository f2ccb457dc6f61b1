#if !canImport(CloudKit)
  import Daybook
  import DaybookCompatibility
  import Foundation
  import Testing

  // Archives of records with texts that an archive takes for others.

  @Suite("archives of records")
  struct RecordArchiveTests {
    private func archived(_ record: CKRecord) throws -> CKRecord? {
      let data = try NSKeyedArchiver.archivedData(withRootObject: record, requiringSecureCoding: true)
      return try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: data)
    }

    @Test("an archive of a record with the text $null could not be read", arguments: ["$null", "$", "$class", "", "\u{0}"])
    func text(_ text: String) throws {
      let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n"))
      record["title"] = text
      record["list"] = ["a", text]
      record["count"] = 3
      record["most"] = Int64.max
      record["share"] = Double.infinity
      record["third"] = 1.0 / 3
      record["zero"] = -0.0
      record["day"] = Date(timeIntervalSinceReferenceDate: 0.1)
      record["bytes"] = Data([0, 255])
      record["place"] = CLLocation(latitude: 1.25, longitude: 2.5)
      record.encryptedValues["secret"] = text
      let back = try #require(try archived(record))
      #expect(back["title"] as? String == text && back["list"] as? [String] == ["a", text])
      #expect(back["count"] as? Int == 3 && back["most"] as? Int64 == .max && back["share"] as? Double == .infinity)
      #expect(back["third"] as? Double == 1.0 / 3 && (back["zero"] as? Double)?.sign == .minus)
      #expect(back["day"] as? Date == Date(timeIntervalSinceReferenceDate: 0.1) && back["bytes"] as? Data == Data([0, 255]))
      #expect((back["place"] as? CLLocation)?.coordinate.longitude == 2.5)
      #expect(back.encryptedValues["secret"] as? String == text)
      #expect(back.changedKeys().sorted() == record.changedKeys().sorted())
    }

    @Test(
      "an archive of a record, a zone or an owner of the name $null could not be read", arguments: ["$null", "$class", "x"])
    func names(_ name: String) throws {
      let zone = CKRecordZone.ID(zoneName: name, ownerName: name)
      let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zone))
      record["count"] = 3
      let back = try #require(try archived(record))
      #expect(back.recordID == record.recordID && back["count"] as? Int == 3)
    }

    @Test("an archive that was made before is still read")
    func before() throws {
      let data = try #require(Data(base64Encoded: Self.olderArchive, options: .ignoreUnknownCharacters))
      let record = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: data))
      #expect(record.recordType == "Note" && record.recordID.recordName == "n")
      #expect(record["title"] as? String == "t" && record["list"] as? [String] == ["a", "b"])
      #expect(record["share"] as? Double == 0.25)
      #expect(record.changedKeys().sorted() == ["list", "share", "title"])
    }

    /// Of a version that wrote the values as a property list.
    private static let olderArchive = """
      YnBsaXN0MDDUAQIDBAUjJCdYJG9iamVjdHNYJHZlcnNpb25UJHRvcFkkYXJjaGl2ZXKpBgcWFxgZGhscVSRudWxs1wgJCgsMDQ4P
      EBESExQVWHpvbmVOYW1lWnJlY29yZFR5cGVZb3duZXJOYW1lXxAUZGF5Ym9vay5zeXN0ZW1GaWVsZHNWJGNsYXNzWnJlY29yZE5h
      bWVeZGF5Ym9vay52YWx1ZXOABIACgAWABoAIgAOAB1ROb3RlUW5cX2RlZmF1bHRab25lXxAQX19kZWZhdWx0T3duZXJfX08QOkRC
      U0YBAQD//wQBAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAATm90ZW4AAAnbA8dPEQEAYnBsaXN0MDDWAQIDBAUG
      BxgZGhscVnZhbHVlc18QD2VuY3J5cHRlZFZhbHVlc1djaGFuZ2VkXxAQY2hhbmdlZEVuY3J5cHRlZFVmaWxlc18QD3BhcmVudElz
      Q2hhbmdlZNMICQoLEhVUbGlzdFVzaGFyZVV0aXRsZdIMDQ4PVHR5cGVVdmFsdWVXc3RyaW5nc6IQEVFhUWLSDA0TFFZkb3VibGUj
      P9AAAAAAAADSDA0WF1ZzdHJpbmdRdNCjCAkKoKAICBUcLjZJT2FobXN5foOJkZSWmJ2krbK5u7zAwcIAAAAAAAABAQAAAAAAAAAd
      AAAAAAAAAAAAAAAAAAAAw9IdHh8iWCRjbGFzc2VzWiRjbGFzc25hbWWiICFfEB1EYXlib29rQ29tcGF0aWJpbGl0eS5DS1JlY29y
      ZFhOU09iamVjdF8QHURheWJvb2tDb21wYXRpYmlsaXR5LkNLUmVjb3JkEgABhqDRJSZUcm9vdIABXxAPTlNLZXllZEFyY2hpdmVy
      AAgAEQAaACMAKAAyADwAQgBRAFoAZQBvAIYAjQCYAKcAqQCrAK0ArwCxALMAtQC6ALwAyQDcARkCHQIiAisCNgI5AlkCYgKCAocC
      igKPApEAAAAAAAACAQAAAAAAAAAoAAAAAAAAAAAAAAAAAAACow==
      """
  }
#endif
