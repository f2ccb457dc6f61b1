#if !canImport(CloudKit)
  import DaybookCompatibility
  import DaybookOtherCoders
  import Testing

  @Suite("coders of another library")
  struct OtherCodersTests {
    @Test("code that uses a library with coders of its own did not compile: each call of one was ambiguous")
    func calls() {
      let zone = CKRecordZone.ID(zoneName: "Notes")
      let encoder = CKRecordEncoder(zoneID: zone), decoder = CKRecordDecoder()
      #expect(encoder.isOther && decoder.isOther && CKRecordEncoder().isOther)
      let single = CloudKitRecordEncoder(), value = CloudKitRecordDecoder()
      #expect(single.isOther && value.isOther && CloudKitRecordEncoder(zoneID: zone).isOther)
    }
  }
#endif
