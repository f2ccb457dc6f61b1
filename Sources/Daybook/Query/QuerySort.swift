extension Query {
  /// A step of an order: by a field, upwards or downwards, or by the distance from a place.
  ///
  /// Upwards: numbers by their exact value, dates, texts by their UTF-8 bytes, bytes, places by latitude and longitude, references
  /// by zone and name, lists by their elements, in this order of kinds. Records without a value come last, upwards and downwards;
  /// assets are no value here, nor are encrypted values.
  public struct Sort: Hashable, Sendable {
    /// What is compared.
    public var field: Field
    /// Whether the smallest comes first.
    public var isAscending: Bool
    /// The place whose distance is compared in place of the value; records without a place come last.
    public var place: Location?

    /// By a field, or by its distance from a place.
    public init(_ field: Field, ascending: Bool = true, distanceFrom place: Location? = nil) {
      self.field = field.whole
      isAscending = ascending
      self.place = place
    }

    /// The smallest first.
    public static func ascending(_ key: String) -> Sort { Sort(Field(key)) }
    /// The largest first.
    public static func descending(_ key: String) -> Sort { Sort(Field(key), ascending: false) }
    /// The smallest first, by a field.
    public static func ascending(_ field: Field) -> Sort { Sort(field) }
    /// The largest first, by a field.
    public static func descending(_ field: Field) -> Sort { Sort(field, ascending: false) }
    /// The nearest first.
    public static func distance(of key: String, from place: Location) -> Sort { Sort(Field(key), distanceFrom: place) }
  }
}

extension Query.Sort: Codable {
  private enum CodingKeys: String, CodingKey { case key, ascending, place }

  /// Reads what ``encode(to:)`` writes.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      Query.Field(try container.decode(String.self, forKey: .key)),
      ascending: try container.decodeIfPresent(Bool.self, forKey: .ascending) ?? true,
      distanceFrom: try container.decodeIfPresent(Location.self, forKey: .place))
  }

  /// Encodes key and direction, and the place if there is one.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(field.name, forKey: .key)
    try container.encode(isAscending, forKey: .ascending)
    try container.encodeIfPresent(place, forKey: .place)
  }
}

extension Query.Sort: CustomStringConvertible {
  /// Such as `year descending`.
  public var description: String {
    let what = place.map { "distance of \(field.name) from \($0)" } ?? field.name
    return isAscending ? what : "\(what) descending"
  }
}
