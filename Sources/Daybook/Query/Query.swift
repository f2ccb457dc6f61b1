/// What to look for: records of a type that a predicate accepts, in an order, in a zone.
///
/// ```swift
/// let recent = Query("Movie", where: .field("year") > 2000 && .field("title").hasPrefix("D"), sort: [.descending("year")])
/// let page = try database.query(recent)
/// ```
///
/// A value: it can be kept, compared, and written as JSON, in which the predicate is its text. It knows no database; what a
/// database refuses, it refuses when the query is run, with `invalidArguments`.
public struct Query: Hashable, Codable, Sendable {
  /// How strictly a database answers as CloudKit does.
  public typealias Dialect = Daybook.Dialect

  /// The type of the records; nil for every type, which ``Dialect/cloudKit`` refuses.
  public var recordType: String?
  /// Which of them.
  public var predicate: Predicate
  /// In which order: by the first, where that is equal by the next, and in the end by zone and name. Empty: in the order in
  /// which they were last saved, zone by zone.
  public var sort: [Sort]
  /// The zone to look in; nil for all zones, in ``Dialect/cloudKit`` for the default zone.
  public var zone: Zone.ID?
  /// How many records at most: of the result, and of each page where pages are asked for. At least one; nil for no limit.
  public var limit: Int?

  /// The records of a type.
  /// - Parameters:
  ///   - recordType: the type.
  ///   - predicate: which of them; all when left out.
  ///   - sort: the order; see ``sort``.
  ///   - zone: the zone to look in; see ``zone``.
  ///   - limit: how many at most.
  public init(
    _ recordType: String, where predicate: Predicate = .true, sort: [Sort] = [], in zone: Zone.ID? = nil, limit: Int? = nil
  ) {
    self.recordType = recordType
    self.predicate = predicate
    self.sort = sort
    self.zone = zone
    self.limit = limit
  }

  /// The records of every type. ``Dialect/cloudKit`` has no such query.
  public init(where predicate: Predicate, sort: [Sort] = [], in zone: Zone.ID? = nil, limit: Int? = nil) {
    recordType = nil
    self.predicate = predicate
    self.sort = sort
    self.zone = zone
    self.limit = limit
  }
}

extension Query {
  /// The fields of records by which it chooses and sorts, each once, in the order in which they are named.
  var fields: [Field] {
    var fields: [Field] = []
    predicate.forEachCondition { fields.append($0.field.whole) }
    fields += sort.map(\.field)
    var known: Set<Field> = []
    return fields.filter { $0.system == nil && known.insert($0).inserted }
  }
}

extension Query: CustomStringConvertible {
  /// The query in a line, such as `Movie where year > 2000 sorted by year descending in Library limit 10`.
  public var description: String {
    var text = recordType ?? "*"
    if predicate != .true { text += " where \(predicate)" }
    if !sort.isEmpty { text += " sorted by " + sort.map(\.description).joined(separator: ", ") }
    if let zone { text += " in \(zone)" }
    if let limit { text += " limit \(limit)" }
    return text
  }
}
