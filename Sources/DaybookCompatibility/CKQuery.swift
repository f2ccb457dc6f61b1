#if !canImport(CloudKit)
  import Daybook
  import Foundation

  import class DaybookEngine.Locked

  /// What to look for: records of a type that a predicate accepts, in an order.
  public final class CKQuery: NSObject, NSCopying, @unchecked Sendable {
    /// The type of the records.
    public let recordType: CKRecord.RecordType
    /// Which of them.
    public let predicate: NSPredicate
    /// Safe to share: no code here changes a descriptor.
    private struct Order: @unchecked Sendable { var steps: [NSSortDescriptor]? }
    private let order = Locked(Order())

    /// The order; nil for any.
    public var sortDescriptors: [NSSortDescriptor]? {
      get { order.withLock { $0 }.steps }
      set {
        let new = Order(steps: newValue)
        order.withLock { $0 = new }
      }
    }

    /// The records of a type that a predicate accepts; `NSPredicate(value: true)` accepts all.
    public init(recordType: CKRecord.RecordType, predicate: NSPredicate) {
      self.recordType = recordType
      self.predicate = predicate
    }

    /// Another query that looks for the same.
    public func copy(with zone: NSZone? = nil) -> Any {
      let copy = CKQuery(recordType: recordType, predicate: predicate)
      copy.sortDescriptors = sortDescriptors
      return copy
    }

    /// The same for Daybook.
    /// - Throws: `invalidArguments` for a predicate or an order that is none.
    public func daybookQuery() throws(DatabaseError) -> Query {
      var steps: [Query.Sort] = []
      for descriptor in sortDescriptors ?? [] { steps.append(try descriptor.daybookSort()) }
      return Query(recordType, where: try predicate.daybookPredicate(), sort: steps)
    }
  }

  /// A place in the result of a query, to go on from.
  public final class CKQueryCursor: NSObject, NSCopying, NSSecureCoding, Sendable {
    let query: Query
    let cursor: Query.Cursor?

    init(query: Query, cursor: Query.Cursor?) {
      self.query = query
      self.cursor = cursor
    }

    /// The beginning.
    convenience init(_ query: CKQuery) throws(DatabaseError) { self.init(query: try query.daybookQuery(), cursor: nil) }

    /// Itself: it never changes.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    private struct Archive: Codable {
      var query: Query
      var cursor: Query.Cursor?
    }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    /// Writes query and place.
    public func encode(with coder: NSCoder) {
      let encoder = JSONEncoder()
      // The place of an order may be infinitely far.
      encoder.nonConformingFloatEncodingStrategy = .convertToString(
        positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
      guard let data = try? encoder.encode(Archive(query: query, cursor: cursor)) else { return }
      coder.encode(data as NSData, forKey: "daybook.cursor")
    }

    /// Reads what ``encode(with:)`` wrote; nil for anything else.
    public convenience init?(coder: NSCoder) {
      let decoder = JSONDecoder()
      decoder.nonConformingFloatDecodingStrategy = .convertFromString(
        positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
      guard let data = coder.bytes(forKey: "daybook.cursor"), let known = try? decoder.decode(Archive.self, from: data)
      else { return nil }
      self.init(query: known.query, cursor: known.cursor)
    }
  }

  extension CKQueryOperation {
    /// A place in the result of a query, to go on from.
    public typealias Cursor = CKQueryCursor
  }

#endif
