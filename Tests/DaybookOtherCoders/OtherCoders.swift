#if !canImport(CloudKit)
  import DaybookCompatibility

  // A library that has coders of its own, as several have, under the names that DaybookCompatibility has, too.

  /// The library's encoder.
  public struct CloudKitRecordEncoder {
    /// Does nothing.
    public init(zoneID: CKRecordZone.ID? = nil) {}
    /// That it is not the one of these names here.
    public var isOther: Bool { true }
  }

  /// The library's decoder.
  public struct CloudKitRecordDecoder {
    /// Does nothing.
    public init() {}
    /// That it is not the one of these names here.
    public var isOther: Bool { true }
  }

  /// The library's encoder.
  public struct CKRecordEncoder {
    /// Does nothing.
    public init(zoneID: CKRecordZone.ID? = nil) {}
    /// That it is not the one of these names here.
    public var isOther: Bool { true }
  }

  /// The library's decoder.
  public struct CKRecordDecoder {
    /// Does nothing.
    public init() {}
    /// That it is not the one of these names here.
    public var isOther: Bool { true }
  }
#endif
